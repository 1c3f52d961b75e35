import type { AgentFacts, ScalingCause } from './facts';
import type { Capacity, Need } from './need';
import type { Trend } from './trend';

/** What the cause depends on, besides the facts. */
export interface Situation {
  capacity: Capacity;
  /** Null where nothing was measured. */
  need: Need | null;
  trend: Trend;
  /** The targets do not hold with what there is. */
  pressed: boolean;
  /** Fewer instances would hold them, by a margin. */
  idle: boolean;
}

/**
 * The cause before the number (R35): instances do not help where a breaker keeps calls away, where the platform's own limit is
 * what is full, or where the agent itself became slow.
 */
export function causeOf(facts: AgentFacts, { capacity, need, trend, pressed, idle }: Situation): ScalingCause {
  if (!need) return facts.breakers.length > 0 || facts.lostInstances > 0 ? 'capacity_shrunk' : 'no_data';
  if (facts.breakers.length > 0) return 'capacity_shrunk';
  if (!pressed) return idle ? 'idle' : 'steady';
  if (wouldFitWithLost(facts, need)) return 'capacity_shrunk';
  if (isBulkheadTooLow(facts, capacity, need)) return 'bulkhead_too_low';
  if (trend.slower && trend.more) return 'slow_and_more_messages';
  if (trend.slower) return 'slow_messages';
  return trend.more ? 'more_messages' : 'undersized';
}

function wouldFitWithLost({ instances, lostInstances }: AgentFacts, need: Need): boolean {
  return lostInstances > 0 && need.instances !== null && need.instances <= instances + lostInstances;
}

/** The instances would do; the platform lets too few calls through to them (R29). */
function isBulkheadTooLow({ bulkheadLimit }: AgentFacts, { ofInstances, isDeclared }: Capacity, need: Need): boolean {
  if (need.servers <= bulkheadLimit) return false;
  return !isDeclared || need.servers <= ofInstances;
}
