import type { SeriesDigest } from './series';
import { LogHistogram, representative } from './log-histogram';

/** What was counted of one ability of a version: enough to compare two versions. */
export interface Counted {
  /** By process: all outcomes since it began to count; a process that begins anew begins at 0. */
  totals: Map<string, { requests: number; failures: number }>;
  /** Everybody's successes of the last 5 minutes, ascending. */
  latencies: { ms: number; count: number }[];
}

/** Sums what processes have told. */
export function countedOf(digests: Iterable<readonly [processId: string, digest: SeriesDigest]>): Counted {
  const totals: Counted['totals'] = new Map();
  const histogram = new LogHistogram();
  for (const [processId, digest] of digests) {
    if (digest.totals) totals.set(processId, digest.totals);
    histogram.merge(digest.latency, 1);
  }
  return { totals, latencies: histogram.buckets().map(([index, count]) => ({ ms: representative(index), count })) };
}
