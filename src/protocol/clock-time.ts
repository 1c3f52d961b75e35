/**
 * The time of day of an ISO time, as messages tell it: `12:03:01 UTC`. Whoever reads it may live anywhere, and so may whoever
 * wrote it. What is no time stays as it is.
 */
export function utcTime(iso: string): string {
  const [, plain] = /T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/.exec(iso) ?? [];
  if (plain !== undefined) return `${plain} UTC`;
  const ms = Date.parse(iso);
  return Number.isFinite(ms) ? `${new Date(ms).toISOString().slice(11, 19)} UTC` : iso;
}
