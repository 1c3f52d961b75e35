/**
 * How long a reach that is accepted now will take (R25, R35), from what is known at that moment: who is being served, who waits, and
 * how long services take. Pure, and cheap enough for every acceptance.
 *
 * Model: with c servers busy and q waiting before it, a reach must see q + 1 departures. These are taken for a renewal process with the
 * pooled rate c/E[S] and the variation of the services, so the wait is a gamma variable with the mean (q + r)·E[S]/c, where
 * r = (1 + cs²)/2 is the residual life of the service under way (W. Feller, "An Introduction to Probability Theory" II, XI.4). Who
 * waits longer than a worker's queue keeps anybody, and is durable, comes back after about the time in which the queue is worked
 * off: by then it is late by {@link LATE_SHARE} of that time, and its wait has a squared coefficient of variation of at least 0.3,
 * for those who come back are served in no order. Where an instance reports itself that it is busy, each departure costs the time
 * until it is heard to be free again.
 */
import { cv2, gammaCdf, meanMs, quantileMs, wilsonUpper, type ServiceProfile } from './queueing';

/** Halvings that bring a quantile within a millionth of its bracket. */
const BISECTIONS = 24;
/** The wait cannot be steadier or wilder than this, whatever a small sample says. */
const MIN_CV2 = 0.05;
const MAX_CV2 = 16;
/** Who was turned away comes back after a time that is spread by half, in no order: however long the queue, its wait is no steadier. */
const MAX_SHAPE = 10 / 3;
/** Between these a durable reach that was turned away stays away, ms; in between as long as the queue takes, as of `Bulkheads`. */
const MIN_AWAY_MS = 500;
const MAX_AWAY_MS = 60_000;
/**
 * Of the time for which a durable reach stays away this much is added to its wait: those who are there meanwhile keep the places
 * taken. Measured on simulated workers (test/scaling/estimates.test.ts), where the whole of it makes estimates a third too long.
 */
const LATE_SHARE = 0.45;
/** `bulkhead.queue_wait` where nothing else is said, ms. */
const DEFAULT_QUEUE_WAIT_MS = 500;
/** A residual life is at most so many services. */
const MAX_RESIDUAL = 2;
/** Fewer services are no distribution: no estimate is made of them. */
const MIN_ESTIMATE_SAMPLES = 5;

/** What is known of an agent when a reach is accepted for it. */
export interface WaitFacts {
  /** Calls at once that it takes, at least 1. */
  servers: number;
  inFlight: number;
  /** Reaches that wait for it. */
  queued: number;
  /** Of the ability that is asked for. */
  service: ServiceProfile;
  /** A durable hand-over, which comes back later where it finds no place in time; else it stands in the queue. */
  durable?: boolean;
  /** How long it takes until an instance that has room again is heard to have it, ms. Default 0. */
  noticeMs?: number;
  /** How long anybody may stand in the queue at once, ms. Default 500. */
  queueWaitMs?: number;
  /** Of everything that the agent's servers do: how fast those before it are served. Default: the same. */
  mix?: ServiceProfile;
}

/** When a reach is likely to be over, ms from its acceptance. */
export interface Estimate {
  /** Half of such reaches are over by then. */
  etaMs: number;
  /** 95 % of them. */
  etaP95Ms: number;
  /** Mean time before its service begins. */
  waitMs: number;
  /** Services that this was learnt from. */
  samples: number;
  /** Share of such reaches, 0–1, whose first attempt is answered within these terms. */
  chance(terms: FeasibilityTerms): number;
  /** The same of one that would not have to wait. */
  chanceAlone(terms: FeasibilityTerms): number;
}

/** The time that a reach has. */
export interface FeasibilityTerms {
  /** The whole reach's, ms. */
  deadlineMs: number;
  /** Most time of one attempt, ms. Besides, an attempt may use half of what is left when it begins (R25). */
  attemptMs: number;
  /** How long it may stand in the queue, ms; `Infinity` for a durable hand-over. */
  patienceMs: number;
}

/** Null where too little was measured. */
export function estimateOf(facts: WaitFacts): Estimate | null {
  const { service } = facts;
  if (service.count < MIN_ESTIMATE_SAMPLES) return null;
  const wait = waitOf(facts);
  const answered = (slackMs: (serviceMs: number) => number, cdf = wait.cdf) =>
    service.values.reduce((sum, [valueMs, times]) => sum + times * cdf(slackMs(valueMs)), 0) / service.count;
  const within = (ms: number) => answered((serviceMs) => ms - serviceMs);
  return {
    etaMs: wait.meanMs === 0 ? (quantileMs(service, 0.5) ?? 0) : solve(within, 0.5, wait.meanMs),
    etaP95Ms: wait.meanMs === 0 ? (quantileMs(service, 0.95) ?? 0) : solve(within, 0.95, wait.meanMs),
    waitMs: wait.meanMs,
    samples: service.count,
    chance: (terms) => answered(slackOf(terms)),
    chanceAlone: (terms) => answered(slackOf(terms), NO_WAIT.cdf),
  };
}

/** How long a reach may wait and still be served in time; negative: never. */
function slackOf({ deadlineMs, attemptMs, patienceMs }: FeasibilityTerms): (serviceMs: number) => number {
  return (serviceMs) => (serviceMs > attemptMs ? -1 : Math.min(patienceMs, deadlineMs - 2 * serviceMs));
}

interface Wait {
  meanMs: number;
  /** P(wait ≤ x). */
  cdf(x: number): number;
}

const NO_WAIT: Wait = { meanMs: 0, cdf: (x) => (x >= 0 ? 1 : 0) };

function waitOf({ servers, inFlight, queued, service, mix = service, durable, ...times }: WaitFacts): Wait {
  const { noticeMs = 0, queueWaitMs = DEFAULT_QUEUE_WAIT_MS } = times;
  const before = inFlight + queued - Math.max(1, servers);
  if (before < 0) return NO_WAIT;
  const pooledMs = (meanMs(mix) ?? meanMs(service) ?? 0) / Math.max(1, servers);
  const variation = Math.min(MAX_CV2, Math.max(MIN_CV2, cv2(mix) ?? 1));
  const departures = before + Math.min(MAX_RESIDUAL, (1 + variation) / 2);
  const eachMs = pooledMs + noticeMs / Math.max(1, servers);
  const inOrder = gammaOf(departures * eachMs, departures / variation);
  if (!durable || inOrder.meanMs <= queueWaitMs) return inOrder;
  const awayMs = Math.min(MAX_AWAY_MS, Math.max(MIN_AWAY_MS, (before + 1) * pooledMs));
  // Queues that long build up at once, with the services that have just begun: none of them is half done.
  const back = gammaOf((before + 1) * eachMs + LATE_SHARE * awayMs, Math.min(MAX_SHAPE, (before + 1) / variation));
  // Who comes back is served no sooner than in order.
  return { meanMs: back.meanMs, cdf: (x) => Math.min(inOrder.cdf(x), back.cdf(x)) };
}

function gammaOf(meanMs: number, shape: number): Wait {
  const gamma = { shape, scale: meanMs / shape };
  return { meanMs, cdf: (x) => gammaCdf(x, gamma) };
}

/** The smallest time by which this share is over; `within` grows. */
function solve(within: (ms: number) => number, share: number, startMs: number): number {
  let highMs = Math.max(1, startMs);
  while (within(highMs) < share && highMs < Number.MAX_SAFE_INTEGER) highMs *= 2;
  let lowMs = 0;
  for (let step = 0; step < BISECTIONS; step += 1) {
    const middle = (lowMs + highMs) / 2;
    if (within(middle) < share) lowMs = middle;
    else highMs = middle;
  }
  return highMs;
}

/** The section `acceptance` of the configuration. */
export interface FeasibilitySettings {
  feasibility: 'off' | 'warn' | 'refuse';
  /** A reach is refused when its chance is surely below this, 0–1. */
  minProbability: number;
}

/** What is likely to be missed is warned of. */
const WARN_BELOW = 0.5;

/** What to do with a reach, by its estimate. */
export type Verdict =
  | { kind: 'fine' }
  | { kind: 'at_risk'; chance: number }
  /** `retryAfterMs` null: waiting does not help, services alone take longer than there is time. */
  | { kind: 'hopeless'; chance: number; retryAfterMs: number | null };

const FINE: Verdict = { kind: 'fine' };
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

/**
 * Warns of a chance below a half. Refuses only when even the upper end of what the chance may be, at 95 % confidence (Wilson) by the
 * number of services it was learnt from, is below `minProbability`: for 0.05 that takes at least 52 services, so with little
 * data nothing is ever refused.
 */
export function verdictOf(
  estimate: Estimate,
  terms: FeasibilityTerms,
  { feasibility, minProbability }: FeasibilitySettings,
): Verdict {
  if (feasibility === 'off') return FINE;
  const chance = estimate.chance(terms);
  const isHopeless = (share: number) => wilsonUpper(share, estimate.samples) < minProbability;
  if (feasibility === 'refuse' && isHopeless(chance)) {
    const waitingHelps = !isHopeless(estimate.chanceAlone(terms));
    return { kind: 'hopeless', chance, retryAfterMs: waitingHelps ? retryAfterMs(estimate) : null };
  }
  return chance < WARN_BELOW ? { kind: 'at_risk', chance } : FINE;
}

/** The time in which the queue before it is served. */
function retryAfterMs({ waitMs }: Estimate): number {
  return Math.round(Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, waitMs)));
}
