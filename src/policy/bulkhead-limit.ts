/** How large an agent's bulkhead is (R29). */
/** What is known of an agent when its bulkhead is sized. Null or undefined: not known. */
export interface BulkheadFacts {
  /** `bulkhead.limits` of this agent. */
  byHand?: number | null;
  /** `max_concurrency` of all instances together. */
  maxConcurrency?: number | null;
  /** Calls per second. */
  qps?: number | null;
  p99Ms?: number | null;
  /** `bulkhead.default_limit`. Default 100. */
  fallback?: number;
}

/**
 * Calls at once that an agent takes (R29): as set by hand; else the smaller of what its instances take and of what is
 * in flight by Little's law, ⌈qps × p99⌉ (50/s × 1.5 s = 75); else the fallback. A whole number, at least 1.
 */
export function bulkheadLimit({ byHand, maxConcurrency, qps, p99Ms, fallback = 100 }: BulkheadFacts): number {
  if (isKnown(byHand)) return whole(byHand);
  const known: number[] = [];
  if (isKnown(maxConcurrency)) known.push(maxConcurrency);
  // The tiny difference keeps 0.1/s × 30 s at 3, which doubles make 3.0000000000000004.
  if (isKnown(qps) && isKnown(p99Ms)) known.push(Math.ceil((qps * p99Ms) / 1_000 - 1e-9));
  return whole(known.length > 0 ? Math.min(...known) : isKnown(fallback) ? fallback : 100);
}

function isKnown(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function whole(value: number): number {
  return Math.max(1, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(value)));
}
