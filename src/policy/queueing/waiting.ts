/**
 * Waiting in G/G/c, by the Allen–Cunneen approximation: the wait of M/M/c, scaled by how irregular arrivals and services are.
 * Sources: A. O. Allen, "Probability, Statistics, and Queueing Theory" (2nd ed., 1990), § 5.3; W. Whitt, "Approximations for the
 * GI/G/m queue", Production and Operations Management 2 (1993); J. F. C. Kingman, "The single server queue in heavy traffic" (1961).
 * Exact for the mean of M/M/c and of M/G/1 (Pollaczek–Khinchine).
 */
import { erlangC, nextErlangB, waitingShare } from './erlang';

/** A queue with identical servers. Rates are per ms, so that times are ms. */
export interface Queue {
  arrivalsPerMs: number;
  meanServiceMs: number;
  servers: number;
  /** Squared coefficient of variation of the times between arrivals; 1 for Poisson. */
  arrivalCv2: number;
  /** Squared coefficient of variation of the service times; 1 for exponential, 0 for constant ones. */
  serviceCv2: number;
}

/** Offered load in erlangs: servers busy on average if there were enough. */
export function offeredLoad({ arrivalsPerMs, meanServiceMs }: Pick<Queue, 'arrivalsPerMs' | 'meanServiceMs'>): number {
  return arrivalsPerMs * meanServiceMs;
}

/** Mean wait before service, ms; `Infinity` where the load is as much as the servers can carry, or more. */
export function meanWaitMs(queue: Queue): number {
  const load = offeredLoad(queue);
  return load <= 0 ? 0 : erlangC(queue.servers, load) * meanDelayOfTheDelayed(queue);
}

/**
 * The wait that a share `quantile` (0–1) of arrivals do not exceed, ms: 0 for as many as do not wait at all, then an exponential
 * tail with the mean of Allen–Cunneen. Exact for M/M/c.
 */
export function waitQuantileMs(queue: Queue, quantile: number): number {
  const load = offeredLoad(queue);
  return load <= 0 ? 0 : tailMs(erlangC(queue.servers, load), queue, quantile);
}

/** Kingman's bound for the mean wait of G/G/1, ms: never less than the truth for Poisson arrivals. */
export function kingmanBoundMs({
  arrivalsPerMs,
  meanServiceMs,
  arrivalCv2,
  serviceCv2,
}: Omit<Queue, 'servers'>): number {
  const load = arrivalsPerMs * meanServiceMs;
  if (load >= 1) return Infinity;
  if (load <= 0) return 0;
  const arrivalVariance = arrivalCv2 / arrivalsPerMs ** 2;
  const serviceVariance = serviceCv2 * meanServiceMs ** 2;
  return (arrivalsPerMs * (arrivalVariance + serviceVariance)) / (2 * (1 - load));
}

/** What a pool of servers must hold. */
export interface WaitTargets {
  /** Most of the servers' time that may be taken, above 0 and below 1. */
  utilisation: number;
  /** What 95 % of arrivals may wait at most, ms. */
  waitP95Ms: number;
}

/** More servers than this nobody asks for. */
const MAX_SERVERS = 1_000_000;

/** The fewest servers that hold both targets, at least 1; grows with the load and with the irregularity. */
export function fewestServers(queue: Omit<Queue, 'servers'>, { utilisation, waitP95Ms }: WaitTargets): number {
  const load = offeredLoad(queue);
  if (load <= 0) return 1;
  let blocked = 1;
  for (let servers = 1; servers < MAX_SERVERS; servers += 1) {
    blocked = nextErlangB(blocked, servers, load);
    if (load > servers * utilisation) continue;
    const share = waitingShare(blocked, servers, load);
    if (tailMs(share, { ...queue, servers }, 0.95) <= waitP95Ms) return servers;
  }
  return MAX_SERVERS;
}

function tailMs(share: number, queue: Queue, quantile: number): number {
  if (share <= 1 - quantile) return 0;
  return Math.log(share / (1 - quantile)) * meanDelayOfTheDelayed(queue);
}

/** Mean wait of those who wait at all: (ca² + cs²) / 2 over the spare rate of the servers. */
function meanDelayOfTheDelayed({ arrivalsPerMs, meanServiceMs, servers, arrivalCv2, serviceCv2 }: Queue): number {
  const spare = servers / meanServiceMs - arrivalsPerMs;
  return spare <= 0 ? Infinity : (arrivalCv2 + serviceCv2) / 2 / spare;
}
