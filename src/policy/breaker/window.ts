import type { BreakerSettings } from './settings';

/** Buckets of a window; what is older than it leaves in steps of a 24th. */
const BUCKETS = 24;
const [OK, FAILED, SLOW, WIDTH] = [0, 1, 2, 3];

/** How long ago a call ended, ms, and whether it failed. */
export type RecentCall = [ageMs: number, failed: 0 | 1];
/** Calls that ended about this long ago: answered, failed, and of the answered those slower than `latencyMs`. */
export type WindowBucket = [ageMs: number, ok: number, failed: number, slow: number];

/** What a window holds, with ages instead of times, so that it means the same to a process with another clock. */
export interface WindowDigest {
  /** The last `tripWindow` calls, newest first. */
  recent: RecentCall[];
  buckets: WindowBucket[];
}

/**
 * Counts of the calls of one ability in one process over `windowMs`. A call costs O(1) and allocates nothing.
 * Times are monotonic ms of that process.
 */
export class OutcomeWindow {
  /** Grows with every call. */
  version = 0;
  lastMs = Number.NEGATIVE_INFINITY;
  /** When something last failed or was slow. */
  lastBadMs = Number.NEGATIVE_INFINITY;
  private readonly bucketMs: number;
  private readonly bucketOf = new Float64Array(BUCKETS).fill(Number.NaN);
  private readonly counts = new Uint32Array(BUCKETS * WIDTH);
  private readonly recentMs: Float64Array;
  private readonly recentFailed: Uint8Array;
  private recentNext = 0;
  private recentLength = 0;

  constructor(private readonly settings: Pick<BreakerSettings, 'windowMs' | 'tripWindow' | 'latencyMs'>) {
    this.bucketMs = settings.windowMs / BUCKETS;
    this.recentMs = new Float64Array(settings.tripWindow);
    this.recentFailed = new Uint8Array(settings.tripWindow);
  }

  /** Counts a call that ended now and took `durationMs`. */
  add(failed: boolean, durationMs: number, nowMs: number): void {
    const at = this.bucketAt(nowMs);
    const slow = !failed && this.settings.latencyMs !== null && durationMs > this.settings.latencyMs;
    this.counts[at + (failed ? FAILED : OK)]!++;
    if (slow) this.counts[at + SLOW]!++;
    if (failed || slow) this.lastBadMs = nowMs;
    this.lastMs = nowMs;
    this.version++;
    this.recentMs[this.recentNext] = nowMs;
    this.recentFailed[this.recentNext] = failed ? 1 : 0;
    this.recentNext = (this.recentNext + 1) % this.recentMs.length;
    this.recentLength = Math.min(this.recentLength + 1, this.recentMs.length);
  }

  /** Whether anything failed or was slow in the window. */
  isBad(nowMs: number): boolean {
    return nowMs - this.lastBadMs < this.settings.windowMs;
  }

  digest(nowMs: number): WindowDigest {
    return { recent: this.recent(nowMs), buckets: this.buckets(nowMs) };
  }

  private recent(nowMs: number): RecentCall[] {
    const calls: RecentCall[] = [];
    for (let n = 1; n <= this.recentLength; n++) {
      const at = (this.recentNext - n + this.recentMs.length) % this.recentMs.length;
      const ageMs = nowMs - this.recentMs[at]!;
      if (ageMs >= this.settings.windowMs) break;
      calls.push([ageMs, this.recentFailed[at] === 1 ? 1 : 0]);
    }
    return calls;
  }

  private buckets(nowMs: number): WindowBucket[] {
    const buckets: WindowBucket[] = [];
    const newest = Math.floor(nowMs / this.bucketMs);
    for (let index = newest; index > newest - BUCKETS; index--) {
      const slot = slotOf(index);
      if (this.bucketOf[slot] !== index) continue;
      const ageMs = Math.max(0, nowMs - (index + 1) * this.bucketMs);
      const at = slot * WIDTH;
      buckets.push([ageMs, this.counts[at + OK]!, this.counts[at + FAILED]!, this.counts[at + SLOW]!]);
    }
    return buckets;
  }

  private bucketAt(nowMs: number): number {
    const index = Math.floor(nowMs / this.bucketMs);
    const slot = slotOf(index);
    const at = slot * WIDTH;
    if (this.bucketOf[slot] !== index) {
      this.bucketOf[slot] = index;
      this.counts.fill(0, at, at + WIDTH);
    }
    return at;
  }
}

function slotOf(index: number): number {
  return ((index % BUCKETS) + BUCKETS) % BUCKETS;
}
