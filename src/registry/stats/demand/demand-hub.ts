import { randomUUID } from 'node:crypto';
import { systemClock, type Clock } from '../../clock';
import { deleteOp, putOp } from '../../etcd/etcd-ops';
import { LeaseKeeper } from '../../etcd/lease-keeper';
import { OwnLease } from '../../etcd/own-lease';
import { Keyspace } from '../../keys';
import type { Logger } from '../../logger';
import { PrefixMirror } from '../../mirror/prefix-mirror';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../../registry';
import { Ticker } from '../../ticker';
import { encodeDemand } from './demand-codec';
import { mergeDemand, type MeasuredDemand } from './merge-demand';
import { OwnDemand, type DemandKey } from './own-demand';
import { RemoteDemand, type DemandKind } from './remote-demand';

/** What a process that died told of its queue vanishes after this long. */
const DIGEST_TTL_SEC = 15;
const DEFAULT_PUBLISH_MS = 1_000;
const AUDIT_MS = 30_000;
/** How long a merged view serves, ms: acceptances come by the thousand, and a second more changes no rate. */
const FRESH_MS = 500;

export interface DemandHubOptions extends RegistryOptions {
  /** Callers that wait in this process for an agent. Default: none. */
  queueOf?: (agentName: string) => number;
  /** How often what changed is published, ms. Default 1000. */
  publishIntervalMs?: number;
}

/** What is asked of one agent, over all processes. */
export interface AgentDemand {
  /** Callers that wait for it, in all live processes. */
  queueDepth: number;
  series: MeasuredDemand[];
}

/** Reads what is asked of agents, without waiting. */
export interface DemandLookup {
  agent(agentName: string): AgentDemand;
}

/**
 * What is asked of agents, shared by all processes (R35): arrivals, calls and service times of the last five minutes and of the hour
 * before, and who waits. Each process publishes a digest per agent once a second when it changed, and that of the hour before when
 * a slot of ten seconds has moved there, under a lease of its own; counts are by slots of wall-clock time, so adding them up
 * needs no agreement. Nothing waits for etcd.
 */
export class DemandHub implements DemandLookup {
  private readonly processId = randomUUID();
  private readonly keys: Keyspace;
  private readonly logger: Logger;
  private readonly clock: Clock;
  private readonly keeper: LeaseKeeper;
  private readonly lease: OwnLease;
  private readonly own: OwnDemand;
  private readonly remote: RemoteDemand;
  private readonly mirror: PrefixMirror;
  private readonly ticker: Ticker;
  private readonly queueOf: (agentName: string) => number;
  private readonly merged = new Map<string, { untilMs: number; series: MeasuredDemand[] }>();

  constructor(options: DemandHubOptions) {
    const { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, logger, clock = systemClock } = options;
    [this.logger, this.clock, this.queueOf] = [logger, clock, options.queueOf ?? (() => 0)];
    this.keys = new Keyspace(keyPrefix, tenant);
    this.keeper = new LeaseKeeper(etcd);
    const monotonicMs = () => clock.monotonicMs();
    this.lease = new OwnLease({ etcd, keeper: this.keeper, logger, ttlSec: DIGEST_TTL_SEC, monotonicMs });
    this.own = new OwnDemand(clock, this.queueOf);
    this.remote = new RemoteDemand({ keys: this.keys, logger, ownProcessId: this.processId });
    const onChanges = this.remote.apply.bind(this.remote);
    const { demand: prefix } = this.keys;
    this.mirror = new PrefixMirror({ etcd, prefix, refreshIntervalMs: AUDIT_MS, logger, clock, onChanges });
    this.ticker = new Ticker(options.publishIntervalMs ?? DEFAULT_PUBLISH_MS, () => this.tick());
  }

  /** Begins to publish and to follow the others. @throws ReachError `engine_unavailable`; may be called again. */
  async start(): Promise<void> {
    await this.mirror.start();
    this.ticker.start();
  }

  /** Withdraws this process's digests; the others keep what it told of the past. */
  async stop(): Promise<void> {
    await this.ticker.stop();
    await this.mirror.stop();
    this.lease.release();
    this.keeper.close();
  }

  /** Counts a reach that was sent to an ability, whatever becomes of it. */
  arrived(key: DemandKey): void {
    this.own.arrived(key);
  }

  /** Counts a call until the returned function is called (again: nothing). */
  started(key: DemandKey): () => void {
    return this.own.started(key);
  }

  /** Counts a call that nobody saw start: of an agent that pulls. Nothing for agents whose calls are seen. */
  finished(key: DemandKey, durationMs: number): void {
    this.own.finished(key, durationMs);
  }

  /** {@inheritDoc DemandLookup.agent} */
  agent(agentName: string): AgentDemand {
    const alive = this.remote.told(agentName).filter((one) => one.alive);
    const elsewhere = alive.reduce((sum, { now }) => sum + (now?.queue ?? 0), 0);
    return { queueDepth: this.queueOf(agentName) + elsewhere, series: this.series(agentName) };
  }

  private series(agentName: string): MeasuredDemand[] {
    const nowMs = this.clock.monotonicMs();
    const known = this.merged.get(agentName);
    if (known && known.untilMs > nowMs) return known.series;
    const told = this.remote.told(agentName);
    const own = { now: this.own.now(agentName), earlier: this.own.earlier(agentName) };
    const sinceSec = Math.min(this.own.startedSec, ...told.flatMap(({ now }) => now?.sinceSec ?? []));
    const series = mergeDemand([...told, own], { nowSec: this.clock.wall().getTime() / 1_000, sinceSec });
    this.merged.set(agentName, { untilMs: nowMs + FRESH_MS, series });
    return series;
  }

  private async tick(): Promise<void> {
    const gone = this.own.advance();
    for (const name of gone) this.merged.delete(name);
    try {
      const { id, isNew } = await this.lease.ensure();
      if (isNew) this.own.forgetTold();
      await this.publish(gone, id);
    } catch (error) {
      this.logger.debug({ error }, 'demand could not be published; trying again');
    }
  }

  private async publish(gone: readonly string[], leaseId: string): Promise<void> {
    const changed = this.own.changed();
    const keyOf = (kind: DemandKind, name: string) => this.keys.under(this.keys.demand, kind, this.processId, name);
    const put = (kind: DemandKind, name: string) => {
      const digest = this.own[kind](name);
      return digest ? putOp(keyOf(kind, name), encodeDemand(digest), leaseId) : deleteOp(keyOf(kind, name));
    };
    const writes = [
      ...changed.flatMap(({ name, now, earlier }) => [
        ...(now ? [put('now', name)] : []),
        ...(earlier ? [put('earlier', name)] : []),
      ]),
      ...gone.flatMap((name) => [deleteOp(keyOf('now', name)), deleteOp(keyOf('earlier', name))]),
    ];
    try {
      if (writes.length > 0) await this.lease.write(writes);
    } catch (error) {
      this.own.forgetTold(changed.map(({ name }) => name));
      throw error;
    }
  }
}
