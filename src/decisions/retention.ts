import type { ObjectStore } from '../payloads';
import { parseSegmentKey } from './keys';
import { SEGMENT_MS } from './writer';

/** Segments that may still be open are left alone, ms. */
const OPEN_MS = 2 * SEGMENT_MS;

export interface RetentionOptions {
  objects: Pick<ObjectStore, 'list' | 'delete'>;
  area: string;
  /** Decisions older than this go, ms. */
  retentionMs: number;
  /** Of more than this the oldest go, bytes as stored. */
  maxBytes: number;
  nowMs: () => number;
}

/** What is there, and what went. */
export interface Pruned {
  segments: number;
  bytes: number;
  removed: number;
}

/** Removes what is too old, and of too much the oldest. Safe to run in many processes at once: removing twice removes once. */
export async function prune({ objects, area, retentionMs, maxBytes, nowMs }: RetentionOptions): Promise<Pruned> {
  const now = nowMs();
  const segments: { key: string; startMs: number; bytes: number }[] = [];
  for await (const { key, bytes } of objects.list(`${area}/`)) {
    const named = parseSegmentKey(key);
    if (named) segments.push({ ...named, bytes });
  }
  segments.sort((a, b) => b.startMs - a.startMs);
  const pruned: Pruned = { segments: 0, bytes: 0, removed: 0 };
  // Once there is too much, all that is older goes as well: the log has no holes.
  let tooMuch = false;
  for (const { key, startMs, bytes } of segments) {
    const isOpen = startMs > now - OPEN_MS;
    tooMuch ||= !isOpen && pruned.bytes + bytes > maxBytes;
    if (tooMuch || (!isOpen && startMs < now - retentionMs - SEGMENT_MS)) {
      if (await objects.delete(key)) pruned.removed += 1;
      continue;
    }
    pruned.segments += 1;
    pruned.bytes += bytes;
  }
  return pruned;
}
