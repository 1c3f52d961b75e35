/** A queue with identical servers, event by event: what the formulas are checked against. Seeded, so every run is the same. */

/** Numbers in [0, 1) from a seed (mulberry32, T. Ettinger). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const exponential = (random: () => number, mean: number): number => -Math.log(1 - random()) * mean;

/** Log-normal with this mean and squared coefficient of variation: its tail is heavier than exponential. */
export function lognormal(random: () => number, { mean, cv2 }: { mean: number; cv2: number }): number {
  const variance = Math.log(1 + cv2);
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.exp(Math.log(mean) - variance / 2 + Math.sqrt(variance) * normal);
}

export interface Simulated {
  /** Waits before service, ascending. */
  waits: Float64Array;
  mean: number;
  quantile(q: number): number;
}

/** First come, first served: each arrival takes the server that is free first. The first tenth warms up and is not counted. */
export function simulateQueue({
  servers,
  arrivals,
  nextArrival,
  nextService,
}: {
  servers: number;
  arrivals: number;
  nextArrival: () => number;
  nextService: () => number;
}): Simulated {
  const freeAt = new Float64Array(servers);
  const warmUp = Math.ceil(arrivals / 10);
  // Numbers alone sort many times as fast as an array does by a function.
  const waits = new Float64Array(arrivals - warmUp);
  let now = 0;
  for (let n = 0; n < arrivals; n += 1) {
    now += nextArrival();
    let first = 0;
    for (let s = 1; s < servers; s += 1) if (freeAt[s]! < freeAt[first]!) first = s;
    const begins = Math.max(now, freeAt[first]!);
    freeAt[first] = begins + nextService();
    if (n >= warmUp) waits[n - warmUp] = begins - now;
  }
  waits.sort();
  const quantile = (q: number) => waits[Math.max(0, Math.ceil(q * waits.length) - 1)]!;
  return { waits, mean: waits.reduce((sum, wait) => sum + wait, 0) / waits.length, quantile };
}
