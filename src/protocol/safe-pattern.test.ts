import { compilePattern, patternWeight } from './safe-pattern';

describe('patterns of untrusted schemas', () => {
  it.each([
    ['^[\\p{L}\\p{M}\\p{N}_.-]{1,128}$', '订单-42', true],
    ['^\\p{Letter}+$', 'abc', true],
    ['^[\\u4e00-\\u9fa5]+$', '退款', true],
    ['^\\p{Script=Han}+$', 'abc', false],
    ['^(a+)+$', `${'a'.repeat(5_000)}b`, false],
    ['b', 'abc', true],
  ])('%s on %j: %s', (pattern, text, expected) => {
    expect(compilePattern(pattern).test(text.slice(0, 6_000))).toBe(expected);
  });

  it.each(['(?=a)b', '(a)\\1', '^x{1001}$', '^((a{1,100}){1,100}){1,100}$', '('])(
    'refuses %s and says why',
    (pattern) => {
      expect(() => compilePattern(pattern)).toThrow(/linear time/);
    },
  );

  it.each([
    ['^e{990}f{700}$', 14 + 1_690],
    ['^[a-z]{3,}$', 11 + 3],
    ['^[\\p{L}\\p{M}\\p{N}_.-]{1,128}$', (29 + 128) * 20],
    ['[^a]{5}', (7 + 5) * 20],
    ['\\P{L}', 5 * 20],
  ])('%s weighs %d', (pattern, weight) => {
    expect(patternWeight(pattern)).toBe(weight);
  });

  it.each(['^\\p{L}{1,300}$', '^[^a]{1,900}$', 'a{1000}'.repeat(6), '\\P{L}{300,}', 'x{99999999}'])(
    'refuses %s before it is compiled',
    (pattern) => {
      expect(() => compilePattern(pattern)).toThrow(
        new RangeError('repeats too much; bound the length with maxLength instead'),
      );
    },
  );

  it.each([
    ['^[a-z]+$', 4],
    ['^ORD-\\d{4}-\\d{2,10}$', 4],
    ['^[\\p{L}\\p{M}\\p{N}_.-]{1,128}$', 4],
    ['^(.*a){20}$', 104],
    ['^.*aaaaaaaaaa$', 16],
    ['[a-z]{20}', 22],
  ])('%s has %d states alive at most', (pattern, width) => {
    expect(compilePattern(pattern).width).toBe(width);
  });

  it('lets one large pattern harm no other', () => {
    for (let n = 1; n <= 30; n += 1) compilePattern(`^[\\p{L}\\p{M}]{1,${n * 7}}$`);
    expect(compilePattern('^\\p{L}+$').test('fine')).toBe(true);
  });
});
