/**
 * What every document must keep to, whichever way it arrives (JSON text, YAML, a value in memory): no key
 * that could reach a prototype, no number that would change its value, bounded depth.
 */
import type { FieldError } from './reach-error';

/** Any plain object, keys unknown. */
export type PlainObject = Record<string, unknown>;

/**
 * The reserved keys. `__proto__` is refused everywhere, whatever it holds. `constructor` is refused only
 * when it holds an object with a key `prototype`, since only that path leads to a shared prototype: a field
 * named `constructor` (a building company, say) or `prototype` is ordinary data.
 * The rule is the one of secure-json-parse (Fastify).
 *
 * @returns the pointer tokens below the object that are at fault, or null.
 */
export function forbiddenKey(key: string, value: unknown): string[] | null {
  if (key === '__proto__') return [key];
  if (key !== 'constructor' || value === null || typeof value !== 'object') return null;
  return Object.hasOwn(value, 'prototype') ? [key, 'prototype'] : null;
}

/** The finding for a reserved key. */
export function forbiddenKeyFinding(pointer: string): FieldError {
  return { pointer, message: 'is a reserved key', fix: 'rename the key; it could alter the prototype of objects' };
}

/**
 * Whether a number written as `literal` (JSON syntax) survives being read as a double and written back.
 *
 * A decimal like 0.1 is no exact double and yet perfectly safe, so the rule is about digits: the double must
 * print (in JavaScript's shortest form) with the digits of the literal. That refuses 9007199254740993, 1e400,
 * 1e-400, 2305843009213693952 (it would be sent on as …694000) and decimals with more digits than fit. A
 * literal with point or exponent may also be the double's 17-digit form, which `%.17g` prints:
 * 0.10000000000000001 is 0.1. `-0` is taken: it equals 0.
 */
export function isExactNumber(literal: string): boolean {
  const isInteger = !/[.eE]/.test(literal);
  if (literal.length <= 15 && !/[eE]/.test(literal)) return true; // 15 significant digits always survive
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  const digits = significantDigits(literal);
  if (digits === significantDigits(String(value))) return true;
  return !isInteger && value !== 0 && significantDigits(value.toPrecision(17)) === digits;
}

/** The digits of a number without sign, point, exponent and outer zeros; '' for zero. */
function significantDigits(literal: string): string {
  const mantissa = literal.split(/[eE]/, 1)[0]!.replace(/[-+.]/g, '');
  return mantissa.replace(/^0+/, '').replace(/0+$/, '');
}

/** `number 1.1`, `text "abc"`, `an array`: what a value is, for messages; long text is cut. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') {
    const shown = value.length > 60 ? `${value.slice(0, 57)}…` : value;
    return `text ${JSON.stringify(shown)}`;
  }
  if (typeof value === 'object') return 'an object';
  return `${typeof value} ${String(value)}`;
}

/** Whether text has no half of a surrogate pair (ES2024; Node 20 has it, TypeScript's ES2023 library does not). */
export function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}
