import type { MirrorChange } from '../../mirror/prefix-mirror';
import type { Logger } from '../../logger';
import { type Keyspace } from '../../keys';
import { decodeEarlier, decodeNow, type EarlierDigest, type NowDigest } from './demand-codec';

/** A process that is gone still tells of the past: its counts are kept until they are too old to count, for so many processes. */
const MAX_DEPARTED = 64;

/** What another process told of one agent. */
export interface ToldDemand {
  now: NowDigest | null;
  earlier: EarlierDigest | null;
  /** The process lives: its queue counts. */
  alive: boolean;
}

/** The two kinds of keys below `demand/`: `now/PROCESS/AGENT` and `earlier/PROCESS/AGENT`. */
export type DemandKind = 'now' | 'earlier';

/**
 * What the other processes saw asked of agents. What one told is kept after it has gone, as it is counted by the clock: else every
 * restart would look as if the traffic had moved.
 */
export class RemoteDemand {
  private readonly agents = new Map<string, Map<string, ToldDemand>>();

  constructor(private readonly options: { keys: Keyspace; logger: Logger; ownProcessId: string }) {}

  /** Applies changes of keys; this process's own are none of its business. */
  apply(changes: readonly MirrorChange[]): void {
    for (const change of changes) this.applyOne(change);
  }

  told(agentName: string): ToldDemand[] {
    return [...(this.agents.get(agentName)?.values() ?? [])];
  }

  private applyOne({ key, entry }: MirrorChange): void {
    const { keys, logger, ownProcessId } = this.options;
    const [kind, processId, name] = keys.partsUnder(keys.demand, key, 3) ?? [];
    if (name === undefined || processId === undefined || processId === ownProcessId) return;
    const processes = this.agents.get(name) ?? new Map<string, ToldDemand>();
    this.agents.set(name, processes);
    const told = processes.get(processId) ?? { now: null, earlier: null, alive: true };
    if (entry === null) return this.depart(processes, processId, told);
    const now = kind === 'now' ? decodeNow(entry.value) : null;
    const earlier = kind === 'earlier' ? decodeEarlier(entry.value) : null;
    if (!now && !earlier) return logger.warn({ key }, 'skipped an unreadable record in etcd');
    processes.set(processId, { now: now ?? told.now, earlier: earlier ?? told.earlier, alive: true });
  }

  private depart(processes: Map<string, ToldDemand>, processId: string, told: ToldDemand): void {
    processes.delete(processId);
    processes.set(processId, { ...told, alive: false });
    const departed = [...processes].filter(([, { alive }]) => !alive);
    for (const [id] of departed.slice(0, Math.max(0, departed.length - MAX_DEPARTED))) processes.delete(id);
  }
}
