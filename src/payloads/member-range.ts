/** Where a member is in the bytes of a JSON object, so that it can be cut out without being written again. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

/**
 * The bytes of a top-level member's value, from the first to the one after the last, without white space around them; null
 * when there is no such member. `content` must be a valid JSON object in UTF-8, in which everything that structures JSON is
 * one byte.
 */
export function memberRange(content: Uint8Array, name: string): [start: number, end: number] | null {
  let depth = 0;
  let key: string | null = null;
  let valueAt = -1;
  for (let at = 0; at < content.byteLength; at += 1) {
    const byte = content[at]!;
    if (byte === QUOTE) {
      const end = stringEnd(content, at);
      if (depth === 1 && valueAt < 0) key = textOf(content.subarray(at, end + 1));
      at = end;
    } else if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
      if (depth === 0) return key === name && valueAt >= 0 ? trimmed(content, valueAt, at) : null;
    } else if (depth === 1 && byte === COLON) valueAt = at + 1;
    else if (depth === 1 && byte === COMMA) {
      if (key === name) return trimmed(content, valueAt, at);
      valueAt = -1;
    }
  }
  return null;
}

function stringEnd(content: Uint8Array, at: number): number {
  for (let index = at + 1; ; index += 1) {
    const byte = content[index];
    if (byte === QUOTE || byte === undefined) return index;
    if (byte === BACKSLASH) index += 1;
  }
}

function textOf(bytes: Uint8Array): string {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as string;
}

function trimmed(content: Uint8Array, start: number, end: number): [number, number] {
  while (isSpace(content[start])) start += 1;
  while (isSpace(content[end - 1])) end -= 1;
  return [start, end];
}

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
