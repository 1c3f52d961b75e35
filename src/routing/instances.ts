import type { InstanceState, InstanceWeight } from '../protocol/shapes';
import type { AgentVersion, StatsLookup } from '../protocol/world';
import { isReady } from './readiness';
import { NEWCOMER_P50_MS, rounded } from './score';
import type { InstanceWeights } from './types';

/** Failure rate of an instance that has not been called yet: the mean of the prior in score.ts. */
const NEWCOMER_FAILURE_RATE = 0.1;

/**
 * Weight of an instance (R18): `max(0, 1−load)·0.5 + 1/(1+p50_ms/1000)·0.3 + (1−failure_rate)·0.2`, over the last
 * 5 min and 1000 requests.
 */
export function instanceWeight(instance: InstanceState, statsOf: StatsOfInstance, weights: InstanceWeights): number {
  const stats = statsOf(instance);
  const load = Number.isFinite(instance.load) ? instance.load : 1;
  const measuredMs = stats?.p50_ms ?? NEWCOMER_P50_MS;
  const p50Ms = Number.isFinite(measuredMs) ? Math.max(0, measuredMs) : NEWCOMER_P50_MS;
  const failureRate =
    stats && stats.requests > 0 && Number.isFinite(stats.failures)
      ? Math.min(1, Math.max(0, stats.failures / stats.requests))
      : NEWCOMER_FAILURE_RATE;
  const weight =
    Math.min(1, Math.max(0, 1 - load)) * weights.load +
    (1 / (1 + p50Ms / 1000)) * weights.latency +
    (1 - failureRate) * weights.reliability;
  return rounded(weight);
}

export type StatsOfInstance = (instance: InstanceState) => ReturnType<StatsLookup['instance']>;

/** The ready instances of an agent with their weights, in the registry's order. */
export function weighInstances(agent: AgentVersion, stats: StatsLookup, weights: InstanceWeights): InstanceWeight[] {
  const statsOf: StatsOfInstance = ({ instance_id }) => stats.instance(agent.name, instance_id);
  return agent.instances.filter(isReady).map((instance) => ({
    instance_id: instance.instance_id,
    weight: instanceWeight(instance, statsOf, weights),
  }));
}

/** Weighted random choice; uniform when all weights are 0. `random` gives a number in [0, 1). Null of nothing. */
export function pickWeighted<T>(items: readonly T[], weightOf: (item: T) => number, random: () => number): T | null {
  const weights = items.map(weightOf);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (!(sum > 0)) return items[Math.floor(random() * items.length)] ?? null;
  let left = random() * sum;
  for (let i = 0; i < items.length; i++) {
    left -= weights[i]!;
    if (left < 0) return items[i]!;
  }
  return items.at(-1) ?? null; // rounding ate the remainder
}
