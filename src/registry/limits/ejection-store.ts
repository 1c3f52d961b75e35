import type { Etcd3 } from 'etcd3';
import type { EjectionSettings } from '../../policy/ejection';
import type { Clock } from '../clock';
import { getOp, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import { grantLease, revokeQuietly } from '../etcd/leases';
import type { Keyspace } from '../keys';
import type { Logger } from '../logger';
import type { MirrorChange } from '../mirror/prefix-mirror';
import {
  decodeEjections,
  encodeEjections,
  seeEntries,
  worthMs,
  type EjectionEntry,
  type SeenEntry,
} from './ejection-record';

/** Changes of others that a write may meet before it is left for the next occasion. */
const MAX_TRIES = 5;
/** A record outlives what it says by this much, so that it ends by being changed, not by vanishing. */
const SLACK_MS = 5_000;

interface AgentEjections {
  modRevision: number;
  entries: ReadonlyMap<string, SeenEntry>;
}

const NOTHING: ReadonlyMap<string, SeenEntry> = new Map();

export interface EjectionStoreOptions {
  etcd: Etcd3;
  keys: Keyspace;
  logger: Logger;
  clock: Clock;
  settings: EjectionSettings;
}

/** The records of ejections: one key per agent, as seen here, and changed by compare-and-swap. */
export class EjectionStore {
  private readonly byAgent = new Map<string, AgentEjections>();

  constructor(private readonly options: EjectionStoreOptions) {}

  agents(): string[] {
    return [...this.byAgent.keys()];
  }

  /** Entries of an agent by instance and version. */
  seen(agentName: string): ReadonlyMap<string, SeenEntry> {
    return this.byAgent.get(agentName)?.entries ?? NOTHING;
  }

  /** Takes over what the mirror says. Answers the agents concerned. */
  apply(changes: readonly MirrorChange[]): Set<string> {
    const { keys, logger } = this.options;
    const agents = new Set<string>();
    for (const { key, entry } of changes) {
      const [agentName] = keys.partsUnder(keys.ejections, key, 1) ?? [];
      if (agentName === undefined) continue;
      const entries = entry === null ? [] : decodeEjections(entry.value);
      if (entries === null) logger.warn({ key }, 'skipped an unreadable record in etcd');
      this.set(agentName, entries ?? [], entry?.modRevision ?? 0);
      agents.add(agentName);
    }
    return agents;
  }

  /**
   * Writes what `edit` makes of the entries seen, again with the newer ones when somebody else was quicker; nothing
   * when it answers null. @throws an etcd error
   */
  async change(agentName: string, edit: () => EjectionEntry[] | null): Promise<void> {
    const { etcd, keys, clock, settings, logger } = this.options;
    const key = keys.under(keys.ejections, agentName);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      // Together with the edit: the mirror may bring a newer revision while the lease is granted.
      const modRevision = String(this.byAgent.get(agentName)?.modRevision ?? 0);
      const entries = edit();
      if (entries === null) return;
      const nowMs = clock.monotonicMs();
      const seen = seeEntries(entries, this.seen(agentName), nowMs);
      const worthSec = Math.ceil((worthMs(seen.values(), nowMs, settings) + SLACK_MS) / 1_000);
      const lease = await grantLease(etcd, worthSec);
      const done = await etcd.kv.txn({
        compare: [unchanged(key, modRevision)],
        success: [putOp(key, encodeEjections(entries), lease.id)],
        failure: [getOp(key)],
      });
      if (done.succeeded) return this.set(agentName, entries, Number(done.header.revision));
      revokeQuietly(etcd, lease.id, logger);
      const [current] = readOf(done, 0);
      this.set(agentName, (current && decodeEjections(current.value)) ?? [], Number(current?.mod_revision ?? 0));
    }
  }

  /** Revisions only grow; what comes late through the watch is older than what a write has answered. 0: deleted. */
  private set(agentName: string, entries: readonly EjectionEntry[], modRevision: number): void {
    const known = this.byAgent.get(agentName);
    if (modRevision === 0) return void this.byAgent.delete(agentName);
    if (known !== undefined && known.modRevision > modRevision) return;
    const nowMs = this.options.clock.monotonicMs();
    this.byAgent.set(agentName, { modRevision, entries: seeEntries(entries, known?.entries ?? NOTHING, nowMs) });
  }
}
