import fc from 'fast-check';
import { ago, duration, fit, percent, width } from './text';

it.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [1_234, '1.2 s'],
  [59_949, '59.9 s'],
  [59_950, '1 m 00 s'],
  [185_000, '3 m 05 s'],
  [7_800_000, '2 h 10 m'],
  [86_400_000 * 3, '3 d'],
])('writes %d ms as %s', (ms, text) => expect(duration(ms)).toBe(text));

it('says how long ago in whole seconds, and 0 s for a clock that runs ahead', () => {
  const now = new Date('2026-03-01T12:00:10Z');
  expect(ago('2026-03-01T12:00:00.400Z', now)).toBe('9 s ago');
  expect(ago('2026-03-01T12:00:20Z', now)).toBe('0 s ago');
  expect(ago('2026-03-01T11:00:00Z', now)).toBe('1 h 00 m ago');
});

it('counts ideographs as two columns and colours as none', () => {
  expect([width('abc'), width('退款'), width('\u001b[32mok\u001b[39m'), width('🧾'), width('e\u0301')]).toEqual([
    3, 4, 2, 2, 1,
  ]);
});

it('never cuts a character in half nor takes more room than there is', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', '款', '🧾', ' ', '\n', 'é'), maxLength: 60 });
  const property = fc.property(texts, fc.integer({ min: 1, max: 40 }), (text, max) => {
    const cut = fit(text, max);
    expect(width(cut)).toBeLessThanOrEqual(max);
    expect(Buffer.from(cut).toString()).toBe(cut); // a lone surrogate would not come back
    if (!cut.endsWith('…')) expect(cut).toBe(text.replace(/\s+/g, ' ').trim());
  });
  fc.assert(property);
});

it('tells nothing measured from nothing failed', () => {
  expect([percent(null), percent(0), percent(0.034), percent(0.5)]).toEqual(['-', '0 %', '3.4 %', '50 %']);
});
