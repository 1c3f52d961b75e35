/** Regular expressions of untrusted schemas, run by RE2's algorithm: linear time, whatever the pattern and the text. */
import { RE2JS } from 're2js';

/** What a validator needs of an expression. */
export interface SafePattern {
  test(text: string): boolean;
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

/**
 * Compiles a pattern as RE2 understands it: no look-around, no back references, repetitions up to 1000.
 * @throws RangeError that says why it cannot be run safely.
 */
export function compilePattern(pattern: string): SafePattern {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new RangeError(`is longer than ${MAX_PATTERN_LENGTH} characters`);
  const short = pattern
    .replace(LONG_PROPERTY, (_, p: string, name: string) => `\\${p}{${CATEGORIES[name] ?? name}}`)
    .replace(/\\([pP])\{(\w+)\}/g, (_, p: string, name: string) => `\\${p}{${CATEGORIES[name] ?? name}}`);
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(short));
    return { test: (text) => compiled.matcher(text).find(), toString: () => `/${pattern}/u` };
  } catch (error) {
    throw new RangeError(`cannot be run in linear time (${(error as Error).message})`);
  }
}
