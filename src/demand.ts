/** What is asked of agents, as every process of the platform counts and shares it (R35). */
import type { PlannedReach } from '../activities/dependencies';
import type { Bulkheads } from './policy/bulkhead';
import { AgentsByName } from './protocol/agents-by-name';
import type { World } from './protocol/world';
import { DemandHub, type RegistryOptions } from './registry';

/** The hub of a process; who waits here is read out of its bulkheads: the agent's own, and those of its instances. */
export function createDemand(
  base: RegistryOptions,
  { world, bulkheads }: { world: () => World; bulkheads: Pick<Bulkheads, 'depth'> },
): DemandHub {
  const agents = new AgentsByName(world);
  const queueOf = (name: string) => {
    const rooms = agents
      .of(name)
      .flatMap(({ version, instances }) => instances.map(({ instance_id: id }) => `${name}/${version}/${id}`));
    return [name, ...rooms].reduce((sum, key) => sum + bulkheads.depth(key), 0);
  };
  return new DemandHub({ ...base, queueOf });
}

/** Reaches that the platform starts by itself, such as deliveries of events, are asked of agents too. */
export function countingStarts(
  demand: Pick<DemandHub, 'arrived'>,
  start: (plan: PlannedReach, traceId: string) => Promise<boolean>,
): typeof start {
  return async (plan, traceId) => {
    const isNew = await start(plan, traceId);
    const { agent_name: agentName, agent_version: agentVersion, ability } = plan.routed.decision.chosen;
    if (isNew) demand.arrived({ agentName, agentVersion, ability });
    return isNew;
  };
}
