import { fewestServers, normalCdf, waitQuantileMs, type Queue, type WaitTargets } from '../queueing';
import type { AgentFacts, ScalingSettings } from './facts';
import type { Load } from './load';

/** An agent shrinks only where the rest would be less taken than this share of the target: what came would not go at once. */
const SHRINK_SHARE = 0.75;
/** Fewer samples cannot vouch for their own variance: confidence is at most their share of this. */
const FULL_SAMPLES = 30;
/** Where no wait is set, 95 % may wait for so many services: one server is then taken for half of its time, many for most of it. */
const TARGET_WAIT_SERVICES = 5;
/** Points of the load's distribution that confidence is counted over. */
const POINTS = 20;
/** A number of instances is right when the one really needed differs by no more than this share, or by one. */
const TOLERANCE = 0.1;

/** How many calls the instances take at once, as far as anybody has said. */
export interface Capacity {
  /** Calls at once per instance, at least 1; null where instances do not say, as the platform's limit says nothing of one. */
  perInstance: number | null;
  /** Of all instances; what the platform lets through where they do not say. */
  ofInstances: number;
  /** What holds: the least of instances and bulkhead. */
  servers: number;
  isDeclared: boolean;
}

export function capacityOf({ instances, maxConcurrency, bulkheadLimit }: AgentFacts): Capacity {
  const declared = maxConcurrency !== null && instances > 0;
  const perInstance = declared ? Math.max(1, maxConcurrency / instances) : null;
  const ofInstances = declared ? maxConcurrency : bulkheadLimit;
  return { perInstance, ofInstances, servers: Math.min(ofInstances, bulkheadLimit), isDeclared: declared };
}

/** The load as a queue, without its servers; null where nothing was measured of how long a service takes. */
export function queueOf({ perSec, meanServiceMs, arrivalCv2, serviceCv2 }: Load): Omit<Queue, 'servers'> | null {
  return meanServiceMs === null ? null : { arrivalsPerMs: perSec / 1_000, meanServiceMs, arrivalCv2, serviceCv2 };
}

/** What 95 % wait at most in this queue with these servers, ms; null without an end to it. */
export function waitP95Ms(queue: Omit<Queue, 'servers'>, servers: number): number | null {
  const whole = Math.max(0, Math.floor(servers));
  const waitMs = waitQuantileMs({ ...queue, servers: whole }, 0.95);
  return Number.isFinite(waitMs) ? waitMs : null;
}

/** What the servers of an agent must hold; the wait is five service times unless it is set. */
export function targetsOf({ targetUtilisation, targetWaitMs }: ScalingSettings, meanServiceMs: number): WaitTargets {
  return { utilisation: targetUtilisation, waitP95Ms: targetWaitMs ?? TARGET_WAIT_SERVICES * meanServiceMs };
}

/** Instances and servers that a load needs. */
export interface Need {
  servers: number;
  /** Null where nobody knows what one takes: no number would hold when it is there. */
  instances: number | null;
}

/** Needed to hold the targets. `shrinking`: with the margin that keeps an agent from growing back at once. */
export function needOf(
  queue: Omit<Queue, 'servers'>,
  {
    perInstance,
    targets,
    shrinking = false,
  }: { perInstance: number | null; targets: WaitTargets; shrinking?: boolean },
): Need {
  const utilisation = targets.utilisation * (shrinking ? SHRINK_SHARE : 1);
  const servers = fewestServers(queue, { ...targets, utilisation });
  return { servers, instances: perInstance === null ? null : Math.max(1, Math.ceil(servers / perInstance - 1e-9)) };
}

/**
 * How sure a number of instances is, 0–1: the share of loads, as they are spread by the sampling error of what was measured, that
 * need this number give or take one (or 10 %). The offered load λ·S has the squared relative error ca²/arrivals + cs²/services;
 * it is taken as log-normal. Bounded by samples/30, and halved where instances do not say what they take.
 */
export function confidenceOf(
  { load, instances }: { load: Load; instances: number },
  needs: (queue: Omit<Queue, 'servers'>) => number,
  { isDeclared }: Pick<Capacity, 'isDeclared'>,
): number {
  const queue = queueOf(load);
  const { arrivals, services } = load.samples;
  const fewest = Math.min(Math.max(arrivals, services), services);
  if (!queue || fewest === 0) return 0;
  const error = Math.sqrt(load.arrivalCv2 / Math.max(arrivals, services) + load.serviceCv2 / services);
  const margin = Math.max(1, TOLERANCE * instances);
  const right = QUANTILES.filter((z) => {
    const arrivalsPerMs = queue.arrivalsPerMs * Math.exp(z * error);
    return Math.abs(needs({ ...queue, arrivalsPerMs }) - instances) <= margin;
  });
  const bound = Math.min(1, fewest / FULL_SAMPLES) * (isDeclared ? 1 : 0.5);
  return Math.round(Math.min(bound, right.length / POINTS) * 100) / 100;
}

/** Standard normal quantiles of the middles of equally likely parts. */
const QUANTILES = Array.from({ length: POINTS }, (_, n) => normalQuantile((n + 0.5) / POINTS));

/** By bisection: the distribution function is all that is needed elsewhere. */
function normalQuantile(share: number): number {
  let [low, high] = [-8, 8];
  for (let step = 0; step < 50; step += 1) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
