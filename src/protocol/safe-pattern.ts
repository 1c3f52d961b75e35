/** Regular expressions of untrusted schemas, run by RE2's algorithm: linear time, whatever the pattern and the text. */
import { RE2JS } from 're2js';

/** What a validator needs of an expression. */
export interface SafePattern {
  test(text: string): boolean;
  /** Steps of RE2 per character at worst: the states that may be alive at once. */
  readonly width: number;
  toString(): string;
}

/** RE2 knows scripts and categories by their short names only. */
const LONG_PROPERTY = /\\([pP])\{(?:Script(?:_Extensions)?|scx?|General_Category|gc)=(\w+)\}/g;
const CATEGORIES: Record<string, string> = {
  Letter: 'L',
  Uppercase_Letter: 'Lu',
  Lowercase_Letter: 'Ll',
  Mark: 'M',
  Number: 'N',
  Decimal_Number: 'Nd',
  Punctuation: 'P',
  Symbol: 'S',
  Separator: 'Z',
};

/** Longer than anyone writes; compile time grows with it. */
const MAX_PATTERN_LENGTH = 1_000;

/** Heaviest single pattern ({@link patternWeight}); it compiles in some tens of milliseconds. */
const MAX_PATTERN_WEIGHT = 5_000;
/** `{n}`, `{n,}` and `{n,m}`: RE2 unrolls each into copies. */
const REPETITION = /\{(\d+)(?:,(\d*))?\}/g;
/** Classes of many code point ranges, which every copy repeats. */
const WIDE_CLASS = /\\[pP]|\[\^/;
const WIDE_CLASS_FACTOR = 20;

/** One character: a class, an escape, or itself. */
const ATOM = String.raw`(?:\[(?:\\.|[^\]\\])+\]|\\[dDwWsS]|\\[pP]\{\w+\}|\\[^\w\s]|[^\\()[\]{}|*+?$^])`;
/** Anchored, of a fixed length but for its last part (`^ORD-\d{4,10}$`): two states are alive at any character. */
const ONE_WAY = new RegExp(String.raw`^\^(?:${ATOM}(?:\{\d+\})?)*(?:${ATOM}(?:[*+?]|\{\d+,\d*\}))?\$?$`, 'u');
const ONE_WAY_WIDTH = 4;

/**
 * What a pattern costs to compile and keep, told from its text before it is compiled: its length and the copies that
 * its repetitions ask for, times 20 for Unicode properties and negated classes. About 150 bytes of heap each.
 */
export function patternWeight(pattern: string): number {
  let copies = 0;
  for (const [, min, max] of pattern.matchAll(REPETITION)) copies += Math.max(Number(min), Number(max ?? 0));
  return (pattern.length + copies) * (WIDE_CLASS.test(pattern) ? WIDE_CLASS_FACTOR : 1);
}

/**
 * Compiles a pattern as RE2 understands it: no look-around, no back references, repetitions up to 1000.
 * @throws RangeError that says why it cannot be run safely.
 */
export function compilePattern(pattern: string): SafePattern {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new RangeError(`is longer than ${MAX_PATTERN_LENGTH} characters`);
  if (patternWeight(pattern) > MAX_PATTERN_WEIGHT)
    throw new RangeError('repeats too much; bound the length with maxLength instead');
  const short = pattern
    .replace(LONG_PROPERTY, (_, p: string, name: string) => `\\${p}{${CATEGORIES[name] ?? name}}`)
    .replace(/\\([pP])\{(\w+)\}/g, (_, p: string, name: string) => `\\${p}{${CATEGORIES[name] ?? name}}`);
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(short));
    const size = compiled.programSize();
    return {
      test: (text) => compiled.matcher(text).find(),
      width: ONE_WAY.test(short) ? Math.min(size, ONE_WAY_WIDTH) : size,
      toString: () => `/${pattern}/u`,
    };
  } catch (error) {
    throw new RangeError(`cannot be run in linear time (${(error as Error).message})`);
  }
}
