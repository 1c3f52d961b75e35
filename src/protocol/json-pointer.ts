/** RFC 6901 JSON pointers: how every finding names its place, and how `idempotency_from` is read. */
import type { Json } from './shapes';

/** One reference token, escaped (`~` → `~0`, `/` → `~1`). */
export function escapePointerToken(token: string | number): string {
  return String(token).replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The pointer of a path of keys and indices; the whole document is `''`. */
export function toPointer(path: Iterable<PropertyKey>): string {
  let pointer = '';
  for (const token of path) pointer += `/${escapePointerToken(String(token))}`;
  return pointer;
}

/** The keys of a pointer, unescaped. Throws a RangeError when the text is not a pointer. */
export function pointerTokens(pointer: string): string[] {
  if (pointer === '') return [];
  if (!/^(\/([^~/]|~[01])*)+$/.test(pointer)) {
    throw new RangeError(`not a JSON pointer: ${JSON.stringify(pointer)}; it starts with / such as /ticket_id`);
  }
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value a pointer names, or undefined when there is none. Own properties only: `/toString` is nothing. */
export function resolvePointer(document: Json, pointer: string): Json | undefined {
  let current: Json | undefined = document;
  for (const token of pointerTokens(pointer)) {
    if (current === null || typeof current !== 'object' || !Object.hasOwn(current, token)) return undefined;
    if (Array.isArray(current) && !/^(0|[1-9]\d*)$/.test(token)) return undefined;
    current = (current as Record<string, Json>)[token];
  }
  return current;
}
