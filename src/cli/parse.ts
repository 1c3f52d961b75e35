import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `500ms`, `30s`, `5m`, `2h`, `1d`, or milliseconds without a unit. For commander: throws InvalidArgumentError. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  const ms = match ? Math.round(Number(match[1]) * (UNITS[match[2] ?? 'ms'] ?? 1)) : NaN;
  if (Number.isSafeInteger(ms)) return ms;
  throw new InvalidArgumentError('write it like 500ms, 30s, 5m, or as milliseconds');
}

/** A port, 0–65535. */
export function parsePort(text: string): number {
  return parseWhole(text, 0, 65_535);
}

/** A whole number from `min` to `max`. */
export function parseWhole(text: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`a whole number from ${min} to ${max}`);
}

/** A date, with a time or without: `Date.parse` alone would take `2` for February 2001. */
const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** An ISO time, or how long ago: `15m`. The answer is ISO. */
export function parseSince(text: string, now = new Date()): string {
  const isAgo = /^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text);
  const time = isAgo ? now.getTime() - parseDuration(text) : ISO_TIME.test(text) ? Date.parse(text) : NaN;
  if (Math.abs(time) <= MAX_DATE_MS) return new Date(time).toISOString();
  throw new InvalidArgumentError(
    'an ISO time such as 2026-03-01T12:00:00Z, or how long ago with its unit, such as 15m',
  );
}

/** Dates end there (ECMA-262, 21.4.1.1). */
const MAX_DATE_MS = 8.64e15;

/** Collects repeated `key=value` options. */
export function collectPair(text: string, previous: Record<string, string> | undefined): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('write it as key=value');
  return { ...previous, [text.slice(0, at)]: text.slice(at + 1) };
}
