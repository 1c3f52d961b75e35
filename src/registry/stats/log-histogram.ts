/**
 * Relative accuracy of a percentile. Buckets grow by γ = (1 + α) / (1 − α), so any value differs from its bucket's
 * representative by at most α (DDSketch: Masson, Rim, Lee, VLDB 2019).
 */
export const RELATIVE_ACCURACY = 0.02;

const GAMMA = (1 + RELATIVE_ACCURACY) / (1 - RELATIVE_ACCURACY);
const LOG_GAMMA = Math.log(GAMMA);
const MIN_MS = 0.01;
const MAX_MS = 86_400_000;
const LOWEST = bucketOf(MIN_MS);
const SIZE = bucketOf(MAX_MS) - LOWEST + 1;

/** A bucket's index and how many values fell into it. */
export type Bucket = [index: number, count: number];

/** The bucket of a duration in milliseconds; what is out of range belongs to the range's end. */
export function bucketOf(durationMs: number): number {
  const value = Math.min(MAX_MS, Math.max(MIN_MS, durationMs));
  return Math.ceil(Math.log(value) / LOG_GAMMA);
}

/** Counts of durations in logarithmic buckets (about 570, dense): mergeable, subtractable, cheap to read. */
export class LogHistogram {
  private readonly counts = new Uint32Array(SIZE);
  private count = 0;

  get total(): number {
    return this.count;
  }

  /** Counts a duration in milliseconds. */
  add(durationMs: number): void {
    this.bump(bucketOf(durationMs), 1);
  }

  /** Adds (`sign` 1) or takes away (−1) the counts of another histogram. */
  merge(buckets: Iterable<Readonly<Bucket>>, sign: 1 | -1): void {
    for (const [index, count] of buckets) this.bump(index, sign * count);
  }

  /** All buckets that are not empty, lowest first. */
  buckets(): Bucket[] {
    const buckets: Bucket[] = [];
    for (let position = 0; position < SIZE; position++) {
      const count = this.counts[position]!;
      if (count > 0) buckets.push([position + LOWEST, count]);
    }
    return buckets;
  }

  /**
   * The values at these quantiles (0–1, ascending), nearest rank, within {@link RELATIVE_ACCURACY}. Never decreasing.
   * Null when nothing was counted.
   */
  quantiles(quantiles: readonly number[]): number[] | null {
    if (this.count === 0) return null;
    let position = -1;
    let seen = 0;
    return quantiles.map((quantile) => {
      const rank = Math.max(1, Math.ceil(quantile * this.count));
      while (seen < rank && position < SIZE - 1) seen += this.counts[++position]!;
      return representative(position + LOWEST);
    });
  }

  /** Buckets of another accuracy or range, as another release may write them, count at the range's ends. */
  private bump(index: number, by: number): void {
    const position = Math.min(SIZE - 1, Math.max(0, index - LOWEST));
    const before = this.counts[position]!;
    const after = Math.max(0, before + by);
    this.counts[position] = after;
    this.count += after - before;
  }
}

/** The duration that stands for a bucket, ms. */
export function representative(index: number): number {
  return (2 * GAMMA ** index) / (GAMMA + 1);
}
