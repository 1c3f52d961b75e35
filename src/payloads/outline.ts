import type { Json, JsonObject } from '../protocol/shapes';

/** Longest text that an outline has whole, UTF-16 units: routing reads 2,000, and rules compare with short values. */
const MAX_TEXT = 4_096;
/** Items of an array that an outline has. */
const MAX_ITEMS = 1_000;

/**
 * A payload as routing needs it: every member, but only the beginning of long texts and long arrays. Depth is bounded by the
 * parser, so recursion is safe.
 */
export function outlineOf(payload: JsonObject): JsonObject {
  return outline(payload) as JsonObject;
}

function outline(value: Json): Json {
  if (typeof value === 'string') return value.length > MAX_TEXT ? beginning(value) : value;
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(outline);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, outline(member)]));
}

/** Marked as cut, so that it equals no whole text; not between the halves of a surrogate pair. */
function beginning(text: string): string {
  return `${text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '')}…`;
}
