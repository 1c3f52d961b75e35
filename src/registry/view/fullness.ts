import type { InstanceState } from '../../protocol/shapes';
import type { AgentVersion, StatsLookup } from '../../protocol/world';
import type { Measured } from './agent-entry';
import type { Clock } from '../clock';

/**
 * Which instances have as many calls in flight, by our own count, as they may have: busy, whatever they report (R14). The count is
 * by instance id. Where several versions have one, that of an address, it is nobody's: each version's bulkheads hold its limit.
 */
export class Fullness implements Measured {
  private readonly since = new Map<string, string>();
  /** Ids that several versions have, as of the last {@link refresh}. */
  private shared: ReadonlySet<string> = new Set();

  constructor(
    private readonly stats: StatsLookup,
    private readonly clock: Clock,
  ) {}

  inFlight(agentName: string, instanceId: string): number {
    if (this.shared.has(keyOf(agentName, instanceId))) return 0;
    return this.stats.instance(agentName, instanceId)?.in_flight ?? 0;
  }

  /** As of the last {@link refresh}, so that a state built in between is consistent. */
  fullSince(agentName: string, instanceId: string): string | null {
    return this.since.get(keyOf(agentName, instanceId)) ?? null;
  }

  /** Counts again. Answers the names of the agents with an instance that became full or free. */
  refresh(agents: readonly AgentVersion[]): Set<string> {
    const changed = new Set<string>();
    this.shared = sharedOf(agents);
    const full = new Set<string>();
    for (const { name, instances } of agents) {
      for (const { instance_id: id, max_concurrency: limit } of instances) {
        if (limit === null || this.inFlight(name, id) < limit) continue;
        full.add(keyOf(name, id));
        if (this.since.has(keyOf(name, id))) continue;
        this.since.set(keyOf(name, id), this.clock.wall().toISOString());
        changed.add(name);
      }
    }
    for (const key of this.since.keys()) {
      if (full.has(key)) continue;
      this.since.delete(key);
      changed.add(key.slice(0, key.indexOf('/')));
    }
    return changed;
  }
}

/** Only addresses number their instances by place: whoever registers has an id of its own. */
function sharedOf(agents: readonly AgentVersion[]): Set<string> {
  const isStatic = ({ source }: InstanceState) => source === 'static';
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const { name, instances } of agents) {
    for (const { instance_id: id } of instances.filter(isStatic)) {
      const key = keyOf(name, id);
      (seen.has(key) ? shared : seen).add(key);
    }
  }
  return shared;
}

function keyOf(agentName: string, instanceId: string): string {
  return `${agentName}/${instanceId}`;
}
