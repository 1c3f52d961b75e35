/**
 * Relative accuracy of a percentile. Buckets grow by γ = (1 + α) / (1 − α), so any value differs from its bucket's
 * representative by at most α (DDSketch: Masson, Rim, Lee, VLDB 2019).
 */
export const RELATIVE_ACCURACY = 0.02;

const GAMMA = (1 + RELATIVE_ACCURACY) / (1 - RELATIVE_ACCURACY);
const LOG_GAMMA = Math.log(GAMMA);
const MIN_MS = 0.01;
const MAX_MS = 86_400_000;

/** A bucket's index and how many values fell into it. */
export type Bucket = [index: number, count: number];

/** Counts of durations in logarithmic buckets: small, mergeable, subtractable. */
export class LogHistogram {
  private readonly counts = new Map<number, number>();
  private count = 0;

  /** @param buckets as from {@link buckets} */
  static of(buckets: Iterable<Bucket>): LogHistogram {
    const histogram = new LogHistogram();
    histogram.merge(buckets, 1);
    return histogram;
  }

  get total(): number {
    return this.count;
  }

  /** Counts a duration in milliseconds; what is out of range counts at the range's end. */
  add(durationMs: number): void {
    const value = Math.min(MAX_MS, Math.max(MIN_MS, durationMs));
    this.bump(Math.ceil(Math.log(value) / LOG_GAMMA), 1);
  }

  /** Adds (`sign` 1) or takes away (−1) the counts of another histogram. */
  merge(buckets: Iterable<Bucket>, sign: 1 | -1): void {
    for (const [index, count] of buckets) this.bump(index, sign * count);
  }

  /** All buckets that are not empty, lowest first. */
  buckets(): Bucket[] {
    return [...this.counts].sort(([a], [b]) => a - b);
  }

  /**
   * The values at these quantiles (0–1, ascending), nearest rank, within {@link RELATIVE_ACCURACY}. Never decreasing.
   * Null when nothing was counted.
   */
  quantiles(quantiles: readonly number[]): number[] | null {
    if (this.count === 0) return null;
    const buckets = this.buckets();
    let position = 0;
    let seen = buckets[0]![1];
    return quantiles.map((quantile) => {
      const rank = Math.max(1, Math.ceil(quantile * this.count));
      while (seen < rank && position < buckets.length - 1) seen += buckets[++position]![1];
      return representative(buckets[position]![0]);
    });
  }

  private bump(index: number, by: number): void {
    const count = Math.max(0, (this.counts.get(index) ?? 0) + by);
    this.count += count - (this.counts.get(index) ?? 0);
    if (count === 0) this.counts.delete(index);
    else this.counts.set(index, count);
  }
}

function representative(index: number): number {
  return (2 * GAMMA ** index) / (GAMMA + 1);
}
