/** Regular expressions of untrusted schemas, run by RE2: linear time, whatever the pattern and the text. */
import { RE2 } from 're2-wasm';

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

/** Objects of the WebAssembly heap are never collected, so equal patterns share one. */
const compiled = new Map<string, SafePattern>();
/** Past this many the cache stops growing; a platform's agents have far fewer patterns. */
const MAX_CACHED = 10_000;
/** Longer than anyone writes; compile time grows with it. */
const MAX_PATTERN_LENGTH = 1_000;

/**
 * Compiles a pattern as RE2 understands it: no look-around, no back references, repetitions up to 1000.
 * @throws RangeError that says why it cannot be run safely.
 */
export function compilePattern(pattern: string): SafePattern {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  if (pattern.length > MAX_PATTERN_LENGTH) throw new RangeError(`is longer than ${MAX_PATTERN_LENGTH} characters`);
  if (compiled.size >= MAX_CACHED) throw new RangeError(`is one too many; this process runs ${MAX_CACHED} patterns`);
  const safe = toRe2(pattern);
  compiled.set(pattern, safe);
  return safe;
}

function toRe2(pattern: string): SafePattern {
  const short = pattern
    .replace(LONG_PROPERTY, (_, p: string, name: string) => `\\${p}{${CATEGORIES[name] ?? name}}`)
    .replace(/\\([pP])\{(\w+)\}/g, (_, p: string, name: string) => `\\${p}{${CATEGORIES[name] ?? name}}`);
  try {
    return new RE2(short, 'u');
  } catch (error) {
    const reason = (error as Error).message.replace(/^Invalid regular expression: .*\/u: /s, '');
    throw new RangeError(`cannot be run in linear time (${reason})`);
  }
}
