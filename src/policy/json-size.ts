import type { Json } from '../protocol/shapes';

/** The most that JSON can grow by being read and written compactly: `1e20` becomes 21 digits, with its comma 22 bytes of 5. */
const MAX_GROWTH = 5;

/**
 * Whether a value takes more than `limitBytes` as compact JSON, which is how it is stored and sent on: white space and
 * escapes go, `1e20` grows. It is written out only when that could matter.
 *
 * @param sourceBytes length of the text that the value was read from
 */
export function isOverSize(value: Json, sourceBytes: number, limitBytes: number): boolean {
  return sourceBytes * MAX_GROWTH > limitBytes && Buffer.byteLength(JSON.stringify(value)) > limitBytes;
}

/**
 * A value as compact JSON if that takes more than `limitBytes`; null if it does not. Written out, once, only when it might.
 *
 * @param sourceBytes length of the text that the value was read from; unknown: it is measured
 */
export function compactIfOver(value: Json, sourceBytes: number | undefined, limitBytes: number): string | null {
  if (sourceBytes !== undefined && sourceBytes * MAX_GROWTH <= limitBytes) return null;
  const compact = JSON.stringify(value);
  return Buffer.byteLength(compact) > limitBytes ? compact : null;
}
