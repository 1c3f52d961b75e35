import fc from 'fast-check';
import { closestNames, editDistance, skeleton } from './nearest';

describe('closestNames', () => {
  it('finds the same words in another order', () => {
    expect(closestNames('disposition-ticket', ['ticket_disposition', 'ticket_deposit'])).toEqual([
      { name: 'ticket_disposition', why: 'word order' },
    ]);
    expect(closestNames('工单', ['单工'])).toEqual([{ name: '单工', why: 'spelling' }]);
  });

  const known = ['invoice-ocr', 'translate', 'refund_progress', 'intent_classification'];

  it.each([
    ['invoice_ocr', 'separator'],
    ['Invoice-OCR', 'case'],
    ['invoice-ocr ', 'whitespace'],
    ['іnvoice-ocr', 'look-alike script'], // Cyrillic і
    ['ｉnvoice-ocr', 'width'],
    ['INVOICE_OCR', 'case, separator'],
    ['invioce-ocr', 'spelling'],
    ['invoice', 'prefix'],
  ])('%s is near invoice-ocr by %s (B10)', (wanted, why) => {
    expect(closestNames(wanted, known)).toEqual([{ name: 'invoice-ocr', why }]);
  });

  it('catches intent_classify for intent_classification (R15)', () => {
    expect(closestNames('intent_classify', known)).toEqual([{ name: 'intent_classification', why: 'prefix' }]);
  });

  it('names nothing for what is not near', () => {
    expect(closestNames('weather', known)).toEqual([]);
    expect(closestNames('', known)).toEqual([]);
    expect(closestNames('x', ['y', 'ab'])).toEqual([]);
  });

  it('never names the wanted name itself, and puts the same skeleton before spelling', () => {
    expect(closestNames('refund', ['refund', 'refunds', 'Refund', 'refumd'], 2).map(({ name }) => name)).toEqual([
      'Refund',
      'refumd',
    ]);
  });

  it('is bounded for hostile names', () => {
    const start = process.cpuUsage();
    closestNames(
      'x'.repeat(1_000_000),
      Array.from({ length: 500 }, (_, i) => `ability_${i}`.padEnd(128, 'x')),
    );
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(1_000);
  });

  it('finds any name again after one case, separator or width change (property)', () => {
    const name = fc.stringMatching(/^[a-z]{3,8}[_-][a-z]{3,8}$/);
    const twist = fc.constantFrom(
      (text: string) => text.toUpperCase(),
      (text: string) => text.replace(/[_-]/, (char) => (char === '_' ? '-' : '_')),
      (text: string) => ` ${text}`,
      (text: string) => text.replace(/^./, (char) => String.fromCodePoint(char.codePointAt(0)! + 0xfee0)),
    );
    fc.assert(
      fc.property(name, twist, (original, change) => {
        expect(closestNames(change(original), ['zzzzzzzzzzzzzzzzzz', original])[0]?.name).toBe(original);
        expect(skeleton(change(original))).toBe(skeleton(original));
      }),
    );
  });
});

describe('skeleton', () => {
  it.each([
    ['invoice-ocr', 'invoice_ocr'],
    ['invoice.ocr', 'InvoiceOCR'],
    ['РАУ', 'pay'], // Cyrillic capitals
    ['ΡΑΥ', 'pay'], // Greek capitals
    ['оcr', 'ocr'], // Cyrillic о
    ['退款', '退款'],
    ['ｒｅｆｕｎｄ', 'refund'],
  ])('%s and %s collide', (left, right) => expect(skeleton(left)).toBe(skeleton(right)));

  it.each([
    ['invoice-ocr', 'invoice-ocr-v2'],
    ['退款', '退货'],
    ['refund', 'refunds'],
    ['оплата', 'доставка'],
  ])('%s and %s do not', (left, right) => expect(skeleton(left)).not.toBe(skeleton(right)));

  it('is its own skeleton (property)', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (name) =>
        expect(skeleton(skeleton(name))).toBe(skeleton(name)),
      ),
      { examples: [['a\u00a8'], ['a-\u0308'], ['- -']] },
    );
  });
});

describe('editDistance', () => {
  it.each([
    ['kitten', 'sitting', 3],
    ['ab', 'ba', 1],
    ['', 'abc', 3],
    ['same', 'same', 0],
  ])('%s → %s is %i', (a, b, distance) => expect(editDistance(a, b, 5)).toBe(distance));

  it('is symmetric, zero only for equals, and capped (property)', () => {
    const word = fc.stringMatching(/^[abc]{0,6}$/);
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b, 10);
        expect(editDistance(b, a, 10)).toBe(distance);
        expect(distance === 0).toBe(a === b);
        expect(editDistance(a, b, 2)).toBe(Math.min(distance, 3));
      }),
    );
  });
});
