import fc from 'fast-check';
import { colorsFor, displayWidth, fit } from './text';

it.each([
  ['', 0],
  ['refund', 6],
  ['退款', 4],
  ['退款 refund，ok', 15],
  ['“什么”…', 7],
  ['e\u0301', 1],
  ['✓', 1],
  ['😡', 2],
])('%j takes %i cells', (text, cells) => {
  expect(displayWidth(text)).toBe(cells);
});

it('cuts Chinese at a whole character and says so', () => {
  expect(fit('退款显示成功了', 8)).toBe('退款显… ');
  expect(fit('退款显示成功了', 7)).toBe('退款显…');
  expect(fit('ok', 5, 'right')).toBe('   ok');
  expect(fit('two\nlines', 9)).toBe('two lines');
});

it('fills exactly the width, whatever the text', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', '退', '，', '😡', 'e\u0301', '…') });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 40 }), (given, width) => displayWidth(fit(given, width)) === width),
  );
});

describe('colours', () => {
  const noColor = process.env.NO_COLOR;
  beforeEach(() => void delete process.env.NO_COLOR);
  afterAll(() => void (noColor === undefined ? delete process.env.NO_COLOR : (process.env.NO_COLOR = noColor)));

  it('are for terminals', () => {
    expect(colorsFor({ isTTY: true }).red('x')).not.toBe('x');
    expect(colorsFor({}).red('x')).toBe('x');
  });

  it('are off where NO_COLOR is set', () => {
    process.env.NO_COLOR = '1';
    expect(colorsFor({ isTTY: true }).red('x')).toBe('x');
  });
});
