/** How the subscribers of an event are written into one history event, and read again. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Subscriber } from './published-event';
import { ReachError } from './reach-error';

/** What the list may take of a history event of 256 KiB; the event itself takes at most `MAX_EVENT_BYTES`, bytes. */
const MAX_LIST_BYTES = 143_360;

/** A list as a workflow's input holds it: to be read by people while it fits, else packed (raw DEFLATE, base64). */
export type WrittenSubscribers = { count: number; list: Subscriber[] } | { count: number; packed: string };

/** @throws ReachError `payload_too_large` when there are more than can be written down: over 4,000 with random ids, over 10,000 with ids alike */
export function writeSubscribers(list: Subscriber[]): WrittenSubscribers {
  const text = JSON.stringify(list);
  if (Buffer.byteLength(text) <= MAX_LIST_BYTES) return { count: list.length, list };
  const packed = deflateRawSync(text).toString('base64');
  if (packed.length <= MAX_LIST_BYTES) return { count: list.length, packed };
  throw new ReachError(
    'payload_too_large',
    `${list.length} subscriptions match this event, more than one event can go to; spread them over several topics`,
  );
}

/** The whole list. */
export function readSubscribers(written: WrittenSubscribers): Subscriber[] {
  if ('list' in written) return written.list;
  return JSON.parse(inflateRawSync(Buffer.from(written.packed, 'base64')).toString('utf8')) as Subscriber[];
}
