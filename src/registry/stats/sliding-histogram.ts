import { bucketOf, LogHistogram, type Bucket } from './log-histogram';

/** R17, R18: latency is that of the last 5 minutes. */
export const LATENCY_WINDOW_MS = 300_000;
const SLICES = 20;
const SLICE_MS = LATENCY_WINDOW_MS / SLICES;

/**
 * Durations of the last {@link LATENCY_WINDOW_MS}, forgotten in slices of 15 s: a value counts for between 4¾ and
 * 5 minutes. Times are monotonic milliseconds.
 */
export class SlidingHistogram {
  private readonly all = new LogHistogram();
  private slices: { number: number; counts: Map<number, number> }[] = [];

  add(durationMs: number, nowMs: number): void {
    this.expire(nowMs);
    const { counts } = this.sliceAt(Math.floor(nowMs / SLICE_MS));
    const bucket = bucketOf(durationMs);
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    this.all.add(durationMs);
  }

  /** Forgets what is too old. Answers whether anything was. */
  expire(nowMs: number): boolean {
    const oldest = Math.floor(nowMs / SLICE_MS) - SLICES + 1;
    const expired = this.slices.filter((slice) => slice.number < oldest);
    if (expired.length === 0) return false;
    for (const { counts } of expired) this.all.merge(counts, -1);
    this.slices = this.slices.filter((slice) => slice.number >= oldest);
    return true;
  }

  private sliceAt(number: number): { counts: Map<number, number> } {
    const last = this.slices.at(-1);
    if (last?.number === number) return last;
    const slice = { number, counts: new Map<number, number>() };
    this.slices.push(slice);
    return slice;
  }

  get total(): number {
    return this.all.total;
  }

  buckets(): Bucket[] {
    return this.all.buckets();
  }
}
