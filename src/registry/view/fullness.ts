import type { AgentVersion, StatsLookup } from '../../protocol/world';
import type { Measured } from './agent-entry';
import type { Clock } from '../clock';

/** Which instances have as many calls in flight, by our own count, as they may have: busy, whatever they report (R14). */
export class Fullness implements Measured {
  private readonly since = new Map<string, string>();

  constructor(
    private readonly stats: StatsLookup,
    private readonly clock: Clock,
  ) {}

  inFlight(agentName: string, instanceId: string): number {
    return this.stats.instance(agentName, instanceId)?.in_flight ?? 0;
  }

  /** As of the last {@link refresh}, so that a state built in between is consistent. */
  fullSince(agentName: string, instanceId: string): string | null {
    return this.since.get(keyOf(agentName, instanceId)) ?? null;
  }

  /** Counts again. Answers the names of the agents with an instance that became full or free. */
  refresh(agents: readonly AgentVersion[]): Set<string> {
    const changed = new Set<string>();
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

function keyOf(agentName: string, instanceId: string): string {
  return `${agentName}/${instanceId}`;
}
