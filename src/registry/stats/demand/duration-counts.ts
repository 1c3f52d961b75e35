/** Relative accuracy of a value: buckets grow by γ = (1 + α) / (1 − α), as in DDSketch (Masson, Rim, Lee, VLDB 2019). */
export const DEMAND_ACCURACY = 0.05;
const GAMMA = (1 + DEMAND_ACCURACY) / (1 - DEMAND_ACCURACY);
const LOG_GAMMA = Math.log(GAMMA);
const MIN_MS = 0.1;
const MAX_MS = 604_800_000;

/** A bucket's index and how many durations fell into it. */
export type DurationBucket = [index: number, count: number];

/** Durations as they travel: how many, their sum, the sum of their squares, and the buckets. */
export interface DurationDigest {
  sums: [count: number, sumMs: number, sumSquaresMs2: number];
  buckets: DurationBucket[];
}

/**
 * Durations in a few coarse buckets beside exact sums: percentiles within {@link DEMAND_ACCURACY}, moments as exact as doubles.
 * Coarser than the histogram that routing reads, because this one is kept many times over.
 */
export class DurationCounts {
  private count = 0;
  private sumMs = 0;
  private sumSquares = 0;
  private readonly counts = new Map<number, number>();

  get total(): number {
    return this.count;
  }

  /** Counts one duration, ms. */
  add(durationMs: number): void {
    const valueMs = Math.min(MAX_MS, Math.max(0, durationMs));
    this.count += 1;
    this.sumMs += valueMs;
    this.sumSquares += valueMs * valueMs;
    this.bump(Math.ceil(Math.log(Math.max(MIN_MS, valueMs)) / LOG_GAMMA), 1);
  }

  merge({ sums: [count, sumMs, sumSquares], buckets }: DurationDigest): void {
    this.count += count;
    this.sumMs += sumMs;
    this.sumSquares += sumSquares;
    for (const [index, times] of buckets) this.bump(index, times);
  }

  digest(): DurationDigest {
    const sums: DurationDigest['sums'] = [this.count, round(this.sumMs), round(this.sumSquares)];
    return { sums, buckets: [...this.counts].sort(([a], [b]) => a - b) };
  }

  private bump(index: number, by: number): void {
    this.counts.set(index, (this.counts.get(index) ?? 0) + by);
  }
}

/** Counts, sums and representative values, as queueing arithmetic reads them. */
export function profileOf({ sums: [count, sumMs, sumSquaresMs2], buckets }: DurationDigest) {
  const values = buckets.map(([index, times]) => [(2 * GAMMA ** index) / (GAMMA + 1), times] as const);
  return { count, sumMs, sumSquaresMs2, values };
}

const round = (value: number): number => Number(value.toPrecision(8));
