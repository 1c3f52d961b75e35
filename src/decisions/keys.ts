/** Names of segments: by hour, then by the time of the first decision, so that whoever looks for a time finds it by name. */

const HOUR_MS = 3_600_000;
const KEY = /\/(\d{10})\/(\d{13})-([a-z0-9-]+)-(\d+)\.jsonl\.gz$/;

/** What the name of a segment says. */
export interface SegmentKey {
  key: string;
  /** Unix ms of its first decision. */
  startMs: number;
}

/** `default/decisions/2026113012/1796040000123-p-1f3a9c20-7.jsonl.gz` */
export function segmentKey(
  area: string,
  { startMs, madeBy, number }: { startMs: number; madeBy: string; number: number },
) {
  return `${area}/${hourOf(startMs)}/${String(startMs).padStart(13, '0')}-${madeBy}-${number}.jsonl.gz`;
}

/** Null for what is no segment. */
export function parseSegmentKey(key: string): SegmentKey | null {
  const parts = KEY.exec(key);
  return parts && { key, startMs: Number(parts[2]) };
}

/** `2026113012` in UTC. */
export function hourOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 13).replace(/\D/g, '');
}

/** Hours from the newest to the oldest that touch a span of time, Unix ms. */
export function* hoursBack(fromMs: number, toMs: number): Generator<string> {
  for (let ms = Math.floor(toMs / HOUR_MS) * HOUR_MS; ms > fromMs - HOUR_MS; ms -= HOUR_MS) yield hourOf(ms);
}
