/** What was measured of service times: counts by value, and exact sums for the moments. */
export interface ServiceProfile {
  /** Services measured. */
  count: number;
  sumMs: number;
  sumSquaresMs2: number;
  /** Representative values with their counts, ascending. */
  values: readonly (readonly [valueMs: number, count: number])[];
}

/** Nothing was measured. */
export const NO_SERVICE: ServiceProfile = Object.freeze({ count: 0, sumMs: 0, sumSquaresMs2: 0, values: [] });

/** Mean, ms; null when nothing was measured. */
export function meanMs({ count, sumMs }: ServiceProfile): number | null {
  return count === 0 ? null : sumMs / count;
}

/** Squared coefficient of variation: variance over the squared mean; null for fewer than two services. */
export function cv2({ count, sumMs, sumSquaresMs2 }: ServiceProfile): number | null {
  if (count < 2 || sumMs <= 0) return null;
  const mean = sumMs / count;
  const variance = (sumSquaresMs2 - count * mean * mean) / (count - 1);
  return Math.max(0, variance) / (mean * mean);
}

/** The nearest-rank quantile, ms; null when nothing was measured. */
export function quantileMs({ count, values }: ServiceProfile, quantile: number): number | null {
  // Counts of a mix are fractions: the sum may fall short of the rank by rounding alone.
  const rank = quantile * count - 1e-9;
  let seen = 0;
  for (const [valueMs, times] of values) {
    seen += times;
    if (seen >= rank) return valueMs;
  }
  return values.at(-1)?.[0] ?? null;
}

/** Several profiles as one, each counting `weight` times: the mix of services that servers really get. */
export function mixProfiles(parts: readonly { profile: ServiceProfile; weight: number }[]): ServiceProfile {
  const counts = new Map<number, number>();
  let [count, sumMs, sumSquaresMs2] = [0, 0, 0];
  for (const { profile, weight } of parts) {
    count += profile.count * weight;
    sumMs += profile.sumMs * weight;
    sumSquaresMs2 += profile.sumSquaresMs2 * weight;
    for (const [valueMs, times] of profile.values) counts.set(valueMs, (counts.get(valueMs) ?? 0) + times * weight);
  }
  return { count, sumMs, sumSquaresMs2, values: [...counts].sort(([a], [b]) => a - b) };
}
