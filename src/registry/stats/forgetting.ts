/**
 * Outcomes weigh less as they grow older: half as much after each half-life (exponential forgetting, as in discounted
 * Thompson sampling and Beta reputation: Jøsang, Ismail 2002). What an agent did while it was ill so fades to the prior by itself,
 * also while it gets no traffic.
 */
/** `router.learning.half_life`, ms. */
export const DEFAULT_HALF_LIFE_MS = 600_000;

/** How much outcomes still weigh: fractions of requests. */
export interface Weighed {
  requests: number;
  failures: number;
}

/** What outcomes weighed at a time of this process's monotonic clock, ms. */
export interface Evidence extends Weighed {
  atMs: number;
}

/** What is left of a weight of 1 after `ageMs`; a clock that went back makes nothing weigh more. */
export function remaining(ageMs: number, halfLifeMs: number): number {
  return ageMs > 0 ? 2 ** (-ageMs / halfLifeMs) : 1;
}

/** What evidence weighs at a later time. */
export function faded({ requests, failures, atMs }: Evidence, nowMs: number, halfLifeMs: number): Weighed {
  const left = remaining(nowMs - atMs, halfLifeMs);
  return { requests: requests * left, failures: failures * left };
}

/** The evidence of several processes as one, of no more than `limit` requests. */
export function pooled(evidence: readonly Weighed[], limit: number): Weighed {
  const sum = { requests: 0, failures: 0 };
  for (const { requests, failures } of evidence) {
    sum.requests += requests;
    sum.failures += failures;
  }
  const share = sum.requests > limit ? limit / sum.requests : 1;
  return { requests: sum.requests * share, failures: sum.failures * share };
}
