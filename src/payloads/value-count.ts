import { ReachError } from '../protocol/reach-error';

/**
 * Objects, lists and members that a large payload may have, and items of lists. A value takes up to some hundred times the
 * bytes that it is written in, and a process that runs out of memory takes everything with it, whatever limits a thread has.
 */
const MAX_PARTS = 4_000_000;
const MAX_ITEMS = 16_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Counts before anything is parsed, in one pass over the bytes; `what` names the content in messages. @throws ReachError `payload_too_large` */
export function assertFewValues(
  content: Uint8Array,
  { parts = MAX_PARTS, items = MAX_ITEMS, what = 'the payload' } = {},
): void {
  let seenParts = 0;
  let seenItems = 0;
  for (let at = 0; at < content.byteLength; at += 1) {
    const byte = content[at];
    if (byte === QUOTE) at = stringEnd(content, at);
    else if (byte === 0x2c) seenItems += 1;
    else if (byte === 0x3a || byte === 0x7b || byte === 0x5b) seenParts += 1;
  }
  if (seenParts > parts) throw tooMany(what, `${seenParts} objects, lists and members, and may have ${parts}`);
  if (seenItems > items) throw tooMany(what, `${seenItems} items, and may have ${items}`);
}

/** The quote that closes a string, or the last byte where none does. */
function stringEnd(content: Uint8Array, at: number): number {
  let end = content.indexOf(QUOTE, at + 1);
  while (end !== -1 && isEscaped(content, end)) end = content.indexOf(QUOTE, end + 1);
  return end === -1 ? content.byteLength : end;
}

function isEscaped(content: Uint8Array, quote: number): boolean {
  let backslashes = 0;
  while (content[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

function tooMany(what: string, has: string): ReachError {
  const subject = what.charAt(0).toUpperCase() + what.slice(1);
  return new ReachError('payload_too_large', `${subject} has ${has}; pack them into fewer values`);
}
