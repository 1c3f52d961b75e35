/** The two tests by which a canary is compared with the stable version. Pure arithmetic. */

/** Calls of one arm in one stretch of time. */
export interface Counts {
  requests: number;
  failures: number;
}

/** Sums of the Cochran–Mantel–Haenszel statistic over stretches of time; they add up. */
export interface StratifiedSums {
  /** Failures of the canary beyond what its share of each stretch's failures would be. */
  excess: number;
  variance: number;
}

/**
 * What one stretch adds (Mantel & Haenszel, JNCI 1959). Arms are compared within the stretch only, so that a time in which
 * everything failed says nothing against the canary, whatever its share was then.
 */
export function stratum(canary: Counts, stable: Counts): StratifiedSums {
  const total = canary.requests + stable.requests;
  const failures = canary.failures + stable.failures;
  if (canary.requests === 0 || stable.requests === 0 || total < 2) return { excess: 0, variance: 0 };
  const expected = (canary.requests * failures) / total;
  const variance = (canary.requests * stable.requests * failures * (total - failures)) / (total * total * (total - 1));
  return { excess: canary.failures - expected, variance };
}

/** One-sided p that the canary fails no more often than the stable, with a correction for continuity of ½. */
export function failureP({ excess, variance }: StratifiedSums): number {
  return variance > 0 ? upperTail((excess - 0.5) / Math.sqrt(variance)) : 1;
}

/** A histogram in ascending order. */
export type Histogram = readonly { ms: number; count: number }[];

/**
 * One-sided p that the canary is no slower: Mann–Whitney on histograms, whose equal values are ties (Mann & Whitney 1947;
 * the variance with ties: Lehmann, Nonparametrics, 1975, § 1.4), with a correction for continuity of ½.
 */
export function slownessP(canary: Histogram, stable: Histogram): number {
  const [m, n] = [totalOf(canary), totalOf(stable)];
  if (m === 0 || n === 0) return 1;
  const others = new Map(stable.map(({ ms, count }) => [ms, count]));
  const values = [...new Set([...canary, ...stable].map(({ ms }) => ms))].sort((a, b) => a - b);
  const own = new Map(canary.map(({ ms, count }) => [ms, count]));
  let below = 0;
  let u = 0;
  let ties = 0;
  for (const ms of values) {
    const [a, b] = [own.get(ms) ?? 0, others.get(ms) ?? 0];
    u += a * (below + b / 2);
    below += b;
    ties += (a + b) ** 3 - (a + b);
  }
  const all = m + n;
  const variance = ((m * n) / 12) * (all + 1 - ties / (all * (all - 1)));
  return variance > 0 ? upperTail((u - (m * n) / 2 - 0.5) / Math.sqrt(variance)) : 1;
}

/** The value below which a share of the counts lies, nearest rank; null when nothing was counted. */
export function quantile(histogram: Histogram, share: number): number | null {
  const rank = Math.max(1, Math.ceil(share * totalOf(histogram)));
  let seen = 0;
  for (const { ms, count } of histogram) if ((seen += count) >= rank) return ms;
  return null;
}

/** How many values a histogram holds. */
export function totalOf(histogram: Histogram): number {
  return histogram.reduce((sum, { count }) => sum + count, 0);
}

/** P(Z > z) of the standard normal: Abramowitz & Stegun 7.1.26 up to its error of 1.5e-7, far below any α in use. */
export function upperTail(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const tail = (poly * Math.exp(-x * x)) / 2;
  return z >= 0 ? tail : 1 - tail;
}
