import type { Etcd3, IRequestOp } from 'etcd3';
import type { Dispatcher } from 'undici';
import type { EgressPolicy } from '../../policy/egress';
import type { AgentVersion, World } from '../../protocol/world';
import { systemClock, type Clock } from '../clock';
import { deleteOp, putOp } from '../etcd/etcd-ops';
import { Keyspace } from '../keys';
import { LeaderKey } from '../etcd/leader-key';
import { LeaseKeeper } from '../etcd/lease-keeper';
import type { Logger } from '../logger';
import { OwnLease } from '../etcd/own-lease';
import { encodeRecord, type HealthRecord } from '../records';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import type { RegistryView } from '../view/registry-view';
import { Ticker } from '../ticker';
import { UNKNOWN_HEALTH, type HealthState } from './health-state';
import { TargetProbe } from './target-probe';
import { probeTargets, type ProbeTarget } from './targets';

const TICK_MS = 250;
/** Another process takes over this long after the probing one died. */
const LEADER_TTL_SEC = 10;
/** Results outlive their prober, so that a failing instance stays failing while another process takes over. */
const RESULTS_TTL_SEC = 120;

export interface HealthProberOptions extends RegistryOptions {
  /** Tells whom to probe and what is known of them. */
  view: RegistryView;
  /** Pooled, and checks what names resolve to. */
  dispatcher: Dispatcher;
  /** Judges addresses written as such, which are never resolved. */
  egress: EgressPolicy;
}

interface Probed {
  key: string;
  target: string;
  probe: TargetProbe;
}

/**
 * Passive probing (R14): one process of all asks every instance's health endpoint at its interval, and writes down
 * in etcd whenever one begins to fail (3 failures in a row) or to pass (2 successes in a row, for a new one the first), so that
 * every view shows it. A process that takes over begins with what was known. Results are written only while the writer
 * is the elected one, and again when they vanished: lease revoked, etcd replaced by an empty one.
 */
export class HealthProber {
  private readonly keys: Keyspace;
  private readonly keeper: LeaseKeeper;
  private readonly leader: LeaderKey;
  private readonly results: OwnLease;
  private readonly ticker: Ticker;
  private readonly view: RegistryView;
  private readonly outbound: { dispatcher: Dispatcher; egress: EgressPolicy };
  private readonly logger: Logger;
  private readonly clock: Clock;
  private readonly probed = new Map<string, Probed>();
  private readonly unwritten = new Map<string, HealthRecord | null>();
  private seen: World | null = null;

  constructor({
    etcd,
    keyPrefix = DEFAULT_KEY_PREFIX,
    tenant,
    logger,
    clock = systemClock,
    view,
    dispatcher,
    egress,
  }: HealthProberOptions) {
    this.keys = new Keyspace(keyPrefix, tenant);
    this.view = view;
    this.outbound = { dispatcher, egress };
    this.logger = logger;
    this.clock = clock;
    this.keeper = new LeaseKeeper(etcd);
    const shared: { etcd: Etcd3; keeper: LeaseKeeper; logger: Logger; monotonicMs: () => number } = {
      etcd,
      keeper: this.keeper,
      logger,
      monotonicMs: () => clock.monotonicMs(),
    };
    this.leader = new LeaderKey({ ...shared, key: this.keys.leader('health-prober'), ttlSec: LEADER_TTL_SEC });
    this.results = new OwnLease({ ...shared, ttlSec: RESULTS_TTL_SEC });
    this.ticker = new Ticker(TICK_MS, () => this.tick());
  }

  /** Begins to stand for probing. Needs no etcd to be up; the view should be started. */
  start(): void {
    this.ticker.start();
  }

  /** Stops probing and lets another process take over at once. Results stay for a while. */
  async stop(): Promise<void> {
    await this.ticker.stop();
    this.abandon();
    this.leader.resign();
    this.keeper.close();
  }

  /** Whether this process is the one that probes. */
  get isProbing(): boolean {
    return this.leader.leads;
  }

  private async tick(): Promise<void> {
    if (!(await this.leader.check())) return this.abandon();
    const world = this.view.world();
    if (world !== this.seen) this.follow(world);
    await this.write().catch((error: unknown) =>
      this.logger.debug({ error }, 'health could not be written; trying again'),
    );
  }

  private abandon(): void {
    for (const { probe } of this.probed.values()) probe.stop();
    this.probed.clear();
    this.unwritten.clear();
    this.seen = null;
  }

  /** Begins and ends probes so that they fit the world. */
  private follow(world: World): void {
    this.seen = world;
    const wanted = new Map<string, () => Probed>();
    const known = new Set<string>();
    for (const target of probeTargets(world.agents)) {
      const place = this.view.healthOf(target.agent.name, target.agent.version, target.instance);
      if (place === null) continue;
      const key = this.keys.record('health', target.agent.name, place.item);
      const identity = JSON.stringify([
        key,
        place.target,
        target.url,
        target.intervalMs,
        target.timeoutMs,
        target.declared,
      ]);
      if (place.record !== null) known.add(key);
      wanted.set(identity, () => this.begin(target, { key, ...place }));
    }
    for (const [identity, probed] of this.probed) {
      const { key, probe } = probed;
      if (wanted.has(identity)) {
        if (!known.has(key)) this.note(probed);
        continue;
      }
      probe.stop();
      this.probed.delete(identity);
      this.unwritten.set(key, null);
    }
    for (const [identity, begin] of wanted) if (!this.probed.has(identity)) this.probed.set(identity, begin());
  }

  private begin(
    target: ProbeTarget,
    { key, target: named, record }: { key: string; target: string; record: HealthRecord | null },
  ): Probed {
    // Nothing old may stay for a target that begins anew; what is known goes under this process's lease.
    this.unwritten.set(key, record);
    const { url, intervalMs, timeoutMs, declared } = target;
    const probe = new TargetProbe({
      url,
      intervalMs,
      timeoutMs,
      declared,
      initial: record === null ? UNKNOWN_HEALTH : { ...record, streak: { ok: record.state === 'passing', count: 0 } },
      ...this.outbound,
      clock: this.clock,
      onTurn: (state) => this.turned(target.agent, key, { target: named, state }),
    });
    probe.start();
    return { key, target: named, probe };
  }

  private turned(
    { name, version }: AgentVersion,
    key: string,
    { target, state }: { target: string; state: HealthState },
  ): void {
    if (state.state === 'unknown') return;
    this.unwritten.set(key, { state: state.state, since: state.since, reason: state.reason, target });
    this.logger.info(
      { agent: name, version, health: state.state, reason: state.reason },
      'the health of an instance turned',
    );
  }

  private async write(): Promise<void> {
    const { id, isNew } = await this.results.ensure();
    if (isNew) this.rewriteAll();
    const batch = new Map(this.unwritten);
    if (batch.size === 0) return;
    const operations = [...batch].map(([key, record]): IRequestOp =>
      record === null ? deleteOp(key) : putOp(key, encodeRecord(record), id),
    );
    const { fence } = this.leader;
    if (fence === null) return;
    if (!(await this.results.write(operations, fence))) return this.leader.depose();
    for (const [key, record] of batch) if (this.unwritten.get(key) === record) this.unwritten.delete(key);
  }

  /** After the lease was lost nothing written before exists any more. */
  private rewriteAll(): void {
    for (const probed of this.probed.values()) this.note(probed);
  }

  private note({ key, target, probe }: Probed): void {
    const { state, since, reason } = probe.health;
    if (state !== 'unknown') this.unwritten.set(key, { state, since, reason, target });
  }
}
