/**
 * JSON in, without silent change: UTF-8 only, no duplicate or reserved keys, bounded depth, exact numbers,
 * no lone surrogates. `JSON.parse` (iterative in V8, so deep input cannot overflow the stack) does the
 * parsing; one linear scan over the text and one walk over the value see what it hides. Neither builds
 * pointers: when something is wrong, {@link findFault} reads the text again, slowly, to say where.
 */
import { isUtf8 } from 'node:buffer';
import { faultError, findFault, type StrictJsonOptions } from './json-faults';
import { hasExponent, numberEnd, stringEnd } from './json-lex';
import { forbiddenKey, isExactNumber, isWellFormed } from './json-rules';
import { MAX_DEPTH } from './limits';
import { ReachError } from './reach-error';
import type { Json } from './shapes';

const BYTE_ORDER_MARK = 0xfeff;

/**
 * Parses JSON text or bytes (a leading BOM is accepted).
 * @throws ReachError `duplicate_key`, `input_too_deep`, `forbidden_key`, else `invalid_request`, with the JSON pointer.
 */
export function parseJsonStrict(input: Uint8Array | string, options: StrictJsonOptions = {}): Json {
  const text = toText(input, options);
  const maxDepth = options.maxDepth ?? MAX_DEPTH;
  const value = parse(text, options);
  const scan = scanText(text, maxDepth);
  if (scan.clean && isClean(value, scan)) return value;
  throw faultError(findFault(text, maxDepth) ?? { kind: 'invalid', pointer: '', message: 'is not valid' }, options);
}

function toText(input: Uint8Array | string, options: StrictJsonOptions): string {
  if (typeof input === 'string') {
    const text = input.charCodeAt(0) === BYTE_ORDER_MARK ? input.slice(1) : input;
    if (isWellFormed(text)) return text;
    throw invalid('contains half of a surrogate pair; send well-formed Unicode', options);
  }
  if (!isUtf8(input)) throw invalid('is not valid UTF-8; encode it as UTF-8', options);
  const text = Buffer.from(input.buffer, input.byteOffset, input.byteLength).toString('utf8');
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

function parse(text: string, options: StrictJsonOptions): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    if (text.trim() === '') throw invalid('is empty; send a JSON document', options, cause);
    // V8 quotes the document in some messages; it may hold secrets and ends in logs, so only the first half stays.
    const reason = (cause as Error).message.replace(/, (\.\.\.)?".*is not valid JSON$/s, '');
    throw invalid(`is not valid JSON: ${reason}`, options, cause);
  }
}

function invalid(message: string, options: StrictJsonOptions, cause?: unknown): ReachError {
  return new ReachError(options.errorCode ?? 'invalid_request', `${options.what ?? 'the body'} ${message}`, {
    errors: [{ pointer: '', message }],
    cause,
  });
}

/** What the scan counted in a text that is known to be valid JSON. */
interface Scan {
  clean: boolean;
  /** Keys in the text; more than the value has means that some appeared twice. */
  keys: number;
  /** A `\ud8xx`-like escape occurs: strings must be looked at for lone halves. */
  surrogateEscapes: boolean;
}

const SURROGATE_ESCAPE = /\\u[dD]/;
const QUOTE = 0x22;
const COLON = 0x3a;

/** One pass over valid JSON: depth, number of keys, exactness of numbers, surrogate escapes. */
function scanText(text: string, maxDepth: number): Scan {
  const scan: Scan = { clean: true, keys: 0, surrogateEscapes: SURROGATE_ESCAPE.test(text) };
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = stringEnd(text, at);
    else if (char === COLON) scan.keys++;
    else if (char === 0x7b || char === 0x5b) {
      if (++depth > maxDepth) return { ...scan, clean: false };
    } else if (char === 0x7d || char === 0x5d) depth--;
    else if (char === 0x2d || (char >= 0x30 && char <= 0x39)) {
      const end = numberEnd(text, at);
      if ((end - at > 15 || hasExponent(text, at, end)) && !isExactNumber(text.slice(at, end))) {
        return { ...scan, clean: false };
      }
      at = end - 1;
    }
  }
  return scan;
}

/** Walks the value (at most `maxDepth` deep by now): reserved keys, lone surrogates, and as many keys as the text has. */
function isClean(value: Json, scan: Scan): boolean {
  const seen = { keys: 0 };
  return walkClean(value, scan.surrogateEscapes, seen) && seen.keys === scan.keys;
}

function walkClean(value: Json, checkText: boolean, seen: { keys: number }): boolean {
  if (typeof value === 'string') return !checkText || isWellFormed(value);
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) {
    for (const item of value) if (!walkClean(item, checkText, seen)) return false;
    return true;
  }
  for (const key of Object.keys(value)) {
    seen.keys++;
    const child = value[key]!;
    if ((checkText && !isWellFormed(key)) || forbiddenKey(key, child) !== null) return false;
    if (!walkClean(child, checkText, seen)) return false;
  }
  return true;
}

export { assertPlainJson } from './plain-json';
export type { StrictJsonOptions } from './json-faults';
