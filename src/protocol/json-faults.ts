/**
 * The slow half of strict JSON: reads a text that is known to be valid JSON but breaks one of our rules,
 * and says what and where. Iterative, so that depth costs heap and not stack.
 */
import type { ErrorCode } from './error-codes';
import { numberEnd, stringEnd } from './json-lex';
import { toPointer } from './json-pointer';
import { forbiddenKeyFinding, isExactNumber, isWellFormed } from './json-rules';
import { ReachError, type FieldError } from './reach-error';

/** How strictly, and under which code faults are reported. */
export interface StrictJsonOptions {
  /** Deepest allowed nesting of objects and arrays; default {@link MAX_DEPTH}. */
  maxDepth?: number;
  /** Code of faults that have none of their own (encoding, syntax, numbers); default `invalid_request`. */
  errorCode?: ErrorCode;
  /** False: `errorCode` is used for every fault, e.g. `agent_protocol_error` for an agent's answer. Default true. */
  ownCodes?: boolean;
  /** What the text is, for messages; default `the body`. */
  what?: string;
}

/** One broken rule: its kind, its place and how to mend it. */
export interface Fault extends FieldError {
  kind: 'duplicate_key' | 'input_too_deep' | 'forbidden_key' | 'invalid';
  details?: Record<string, unknown>;
}

/** An open object or array: where we are in it. */
interface Frame {
  keys: Set<string> | null;
  token: string | number;
  /** The next string is a key (objects only). */
  expectsKey: boolean;
}

const NUMBER_START = /[-\d]/;

/** The first fault in document order, or null when there is none. `text` must be valid JSON. */
export function findFault(text: string, maxDepth: number): Fault | null {
  const stack: Frame[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    let end = at + 1;
    if (char === '"') end = stringEnd(text, at) + 1;
    else if (NUMBER_START.test(char)) end = numberEnd(text, at);
    const fault = step(text.slice(at, end), stack, maxDepth);
    if (fault !== null) return fault;
    at = end - 1;
  }
  return null;
}

function step(token: string, stack: Frame[], maxDepth: number): Fault | null {
  const top = stack.at(-1);
  switch (token) {
    case '{':
    case '[':
      if (stack.length >= maxDepth) return tooDeep(maxDepth);
      stack.push(
        token === '{' ? { keys: new Set(), token: '', expectsKey: true } : { keys: null, token: 0, expectsKey: false },
      );
      return null;
    case '}':
    case ']':
      stack.pop();
      return null;
    case ',':
      if (top!.keys === null) top!.token = (top!.token as number) + 1;
      else top!.expectsKey = true;
      return null;
    default:
      if (token.startsWith('"')) return stringFault(token, stack);
      return NUMBER_START.test(token) ? numberFault(token, stack) : null; // else `:`, white space or a literal
  }
}

function stringFault(token: string, stack: Frame[]): Fault | null {
  const text = JSON.parse(token) as string;
  const top = stack.at(-1);
  if (top?.expectsKey) return keyFault(text, top, stack);
  if (isWellFormed(text)) return null;
  return invalid(stack, 'contains half of a surrogate pair', 'send well-formed Unicode');
}

function keyFault(key: string, top: Frame, stack: Frame[]): Fault | null {
  const parent = stack.at(-2);
  top.token = key;
  top.expectsKey = false;
  if (!isWellFormed(key)) return invalid(stack, 'is a key with half of a surrogate pair', 'send well-formed Unicode');
  if (key === '__proto__' || (key === 'prototype' && parent?.keys && parent.token === 'constructor')) {
    return { kind: 'forbidden_key', ...forbiddenKeyFinding(pointerOf(stack)), details: { key } };
  }
  if (top.keys!.has(key)) {
    const message = `appears twice in the same object (key ${JSON.stringify(key)})`;
    return { kind: 'duplicate_key', pointer: pointerOf(stack), message, fix: 'keep one of them', details: { key } };
  }
  top.keys!.add(key);
  return null;
}

function numberFault(token: string, stack: Frame[]): Fault | null {
  if (isExactNumber(token)) return null;
  const shown = token.length > 60 ? `${token.slice(0, 57)}…` : token;
  return invalid(
    stack,
    `is a number that a double cannot hold exactly (${shown})`,
    'send it as a string, or with fewer digits',
  );
}

function invalid(stack: Frame[], message: string, fix: string): Fault {
  return { kind: 'invalid', pointer: pointerOf(stack), message, fix };
}

/** The fault of a document that is nested deeper than the limit. */
export function tooDeep(maxDepth: number, pointer = ''): Fault {
  const message = `is nested deeper than ${maxDepth} levels`;
  return { kind: 'input_too_deep', pointer, message, fix: 'flatten the document', details: { limit: maxDepth } };
}

function pointerOf(stack: Frame[]): string {
  return toPointer(stack.map((frame) => frame.token));
}

const CODE_OF_FAULT = {
  duplicate_key: 'duplicate_key',
  input_too_deep: 'input_too_deep',
  forbidden_key: 'forbidden_key',
  invalid: null,
} as const satisfies Record<Fault['kind'], ErrorCode | null>;

/** The error for a fault in a document, under its own code or the caller's. */
export function faultError(fault: Fault, options: StrictJsonOptions = {}): ReachError {
  const fallback = options.errorCode ?? 'invalid_request';
  const code = options.ownCodes === false ? fallback : (CODE_OF_FAULT[fault.kind] ?? fallback);
  const { pointer, message, fix } = fault;
  const where = pointer === '' ? (options.what ?? 'the body') : pointer;
  const detail = `${where} ${message}${fix === undefined ? '' : `; ${fix}`}`;
  return new ReachError(code, detail, {
    errors: [{ pointer, message, ...(fix !== undefined && { fix }) }],
    extra: fault.details && { details: fault.details },
  });
}
