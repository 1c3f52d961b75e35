/** Percentiles of a set of latencies, ms. */
export interface Latency {
  requests: number;
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
}

/** Nearest-rank percentiles: each is a latency that was measured. @throws RangeError for no latencies */
export function latencyOf(latenciesMs: readonly number[]): Latency {
  const sorted = Float64Array.from(latenciesMs).sort();
  return {
    requests: sorted.length,
    p50_ms: percentile(sorted, 0.5),
    p95_ms: percentile(sorted, 0.95),
    p99_ms: percentile(sorted, 0.99),
  };
}

function percentile(sorted: Float64Array, share: number): number {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new RangeError('Percentiles need at least one latency');
  return rounded(value, 3);
}

/** `value` with that many decimals: a figure for people and JSON, not for further arithmetic. */
export function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}

/** Random numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
