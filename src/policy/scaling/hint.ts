import { offeredLoad, quantileMs, type Queue, type ServiceProfile } from '../queueing';
import { causeOf, type Situation } from './cause';
import type { AgentFacts, EarlierDemand, ScalingCause, ScalingSettings } from './facts';
import { earlierOf, loadOf, type Load } from './load';
import { capacityOf, confidenceOf, needOf, queueOf, targetsOf, waitP95Ms, type Capacity } from './need';
import { trendOf, type Trend } from './trend';

/** An agent is not shrunk before it was watched for so long, seconds. */
const SHRINK_AFTER_SEC = 900;

/** A hint as data; wording.ts says it. */
export interface Hint {
  cause: ScalingCause;
  /** At least 1. */
  instances: number;
  confidence: number;
  load: Load;
  earlier: EarlierDemand | null;
  trend: Trend;
  capacity: Capacity;
  /** Share of the capacity that the load takes; over 1: more than it carries. Null where nothing was measured. */
  utilisation: number | null;
  waitP95Ms: number | null;
  /** Servers that the load needs; null where nothing was measured. */
  neededServers: number | null;
  /** What would be needed if services took as long as in the hour before. */
  instancesIfFixed: number | null;
  /** What the agent's bulkhead should let through: what is in flight by Little's law, λ × p99, and no less than is needed. */
  bulkheadNeeded: number | null;
}

/** Recommends instances for one version of an agent, and says why they are needed (R35). Pure. */
export function scalingHint(facts: AgentFacts, settings: ScalingSettings): Hint {
  const load = loadOf(facts);
  const earlier = earlierOf(facts);
  const queue = queueOf(load);
  const known = { load, earlier, trend: trendOf(load, earlier), capacity: capacityOf(facts) };
  return queue ? measuredHint(facts, settings, { ...known, queue }) : unmeasuredHint(facts, known);
}

type Known = Pick<Hint, 'load' | 'earlier' | 'trend' | 'capacity'>;

function measuredHint(
  facts: AgentFacts,
  settings: ScalingSettings,
  { queue, ...known }: Known & { queue: Omit<Queue, 'servers'> },
): Hint {
  const { capacity, load, earlier, trend } = known;
  const targets = targetsOf(settings, queue.meanServiceMs);
  const terms = { perInstance: capacity.perInstance, targets };
  const need = needOf(queue, terms);
  const wait = waitP95Ms(queue, capacity.servers);
  const utilisation = capacity.servers > 0 ? offeredLoad(queue) / capacity.servers : null;
  // One server cannot be less than one: a load so small that it waits only for itself asks for nothing.
  const pressed = need.servers > capacity.servers;
  const fewer = shrunk(queue, { facts, earlier, load, terms });
  const situation: Situation = { capacity, need, trend, pressed, idle: fewer < facts.instances };
  const cause = causeOf(facts, situation);
  const wanted = pressed ? Math.max(need.instances ?? 0, facts.instances) : Math.min(fewer, facts.instances);
  const instances = Math.max(1, wanted);
  const needs = (other: Omit<Queue, 'servers'>) => confidenceNeed(other, { pressed, instances, terms });
  return {
    ...known,
    cause,
    instances,
    confidence: confidenceOf({ load, instances }, needs, capacity),
    utilisation,
    waitP95Ms: wait,
    neededServers: need.servers,
    instancesIfFixed: trend.slower ? fixedNeed(queue, { earlier, terms }) : null,
    bulkheadNeeded: Math.max(need.servers, littlesLaw(load)),
  };
}

type Terms = Parameters<typeof needOf>[1];

/** What a load would be told: growth by the targets; else what there is, unless it is more than the targets ask for. */
function confidenceNeed(
  queue: Omit<Queue, 'servers'>,
  { pressed, instances, terms }: { pressed: boolean; instances: number; terms: Terms },
): number {
  const grown = needOf(queue, terms).instances;
  const shrunken = needOf(queue, { ...terms, shrinking: true }).instances;
  // Where nobody says what an instance takes, every load is told that what there is stays.
  if (grown === null || shrunken === null) return instances;
  return pressed ? grown : Math.max(grown, Math.min(instances, shrunken));
}

/** Instances that even the busiest five minutes of the last hour left at ease; all until that and what one takes is known. */
function shrunk(
  queue: Omit<Queue, 'servers'>,
  { facts, earlier, load, terms }: { facts: AgentFacts; earlier: EarlierDemand | null; load: Load; terms: Terms },
): number {
  const watchedSec = load.samples.windowSec + (earlier?.seconds ?? 0);
  // Little comes while a breaker refuses it, and nothing is spare while instances are out.
  const isWhole = facts.breakers.length === 0 && facts.lostInstances === 0 && facts.queueDepth === 0;
  if (watchedSec < SHRINK_AFTER_SEC || !isWhole) return facts.instances;
  const arrivalsPerMs = Math.max(load.perSec, earlier?.peakPerSec ?? 0) / 1_000;
  return needOf({ ...queue, arrivalsPerMs }, { ...terms, shrinking: true }).instances ?? facts.instances;
}

function fixedNeed(
  queue: Omit<Queue, 'servers'>,
  { earlier, terms }: { earlier: EarlierDemand | null; terms: Terms },
): number | null {
  const before = earlier?.service;
  if (!before || before.count === 0) return null;
  return needOf({ ...queue, meanServiceMs: before.sumMs / before.count }, terms).instances;
}

/** Calls in flight that 99 % of services ask for, ⌈λ × p99⌉ (R29). */
function littlesLaw({ perSec, service }: Load): number {
  return Math.ceil((perSec * (quantileMs(service, 0.99) ?? 0)) / 1_000 - 1e-9);
}

/** No service was measured in the window: what there is stays, unless nobody asked for an hour. */
function unmeasuredHint(facts: AgentFacts, known: Known): Hint {
  const { load, earlier, trend, capacity } = known;
  const watchedSec = load.samples.windowSec + (earlier?.seconds ?? 0);
  const quiet = load.perSec === 0 && watchedSec >= SHRINK_AFTER_SEC && (earlier?.calls ?? 0) === 0;
  const isIdle = quiet && facts.instances > 1 && facts.queueDepth === 0;
  const situation = { capacity, need: null, trend, pressed: false, idle: isIdle };
  return {
    ...known,
    cause: isIdle ? 'idle' : causeOf(facts, situation),
    instances: isIdle ? 1 : Math.max(1, facts.instances),
    confidence: isIdle ? 0.5 : 0,
    utilisation: load.perSec === 0 ? 0 : null,
    waitP95Ms: load.perSec === 0 ? 0 : null,
    neededServers: null,
    instancesIfFixed: null,
    bulkheadNeeded: null,
  };
}

/** The quantiles that people ask for, ms. */
export function percentiles(service: ServiceProfile): { p50: number | null; p95: number | null; p99: number | null } {
  return { p50: quantileMs(service, 0.5), p95: quantileMs(service, 0.95), p99: quantileMs(service, 0.99) };
}
