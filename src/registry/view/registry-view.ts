import type { BreakerLookup } from '../../protocol/reliability';
import type { InstanceState } from '../../protocol/shapes';
import type { RouteTable } from '../../protocol/route-table';
import type { AgentVersion, StatsLookup, World } from '../../protocol/world';
import { healthItem, leaseTarget } from './agent-entry';
import { systemClock, type Clock } from '../clock';
import { DegradedWatch } from './degraded';
import { Fullness } from './fullness';
import { GoneWriter } from './gone-writer';
import { Keyspace } from '../keys';
import type { EjectionLookup } from '../limits/ejections';
import { PrefixMirror, type MirrorChange } from '../mirror/prefix-mirror';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import type { HealthRecord } from '../records';
import { RegistryState } from './registry-state';
import { Ticker } from '../ticker';

export interface RegistryViewOptions extends RegistryOptions {
  /** `registry.refresh_interval`: how often the view is audited against etcd, milliseconds. */
  refreshIntervalMs: number;
  /** Measured behaviour, as of {@link StatsHub.lookup}. Default: nothing is measured. */
  stats?: StatsLookup;
  /** Who is left alone for failing in a row: `Ejections`. Default: nobody. */
  ejections?: EjectionLookup;
  /** Breakers, handed on in {@link World.breakers}. Default: none. */
  breakers?: BreakerLookup;
  /** The route table, handed on in {@link World.routes}: `RouteTableView`. Default: nobody has written a route. */
  routes?: { current(): RouteTable; onChange(listener: () => void): () => void };
  /** `registry.health_threshold` (R24), 0–1: below this healthy share {@link World.degraded} is set. Default: never. */
  healthThreshold?: number;
}

const NOBODY_EJECTED: EjectionLookup = { of: () => null, onChange: () => () => undefined };
const NOTHING_MEASURED: StatsLookup = { ability: () => null, instance: () => null };
/** How often measured calls in flight are compared with the instances' limits. */
const RECOUNT_MS = 1_000;

/**
 * The registry as this process sees it: fed by a watch, listed anew after any gap, readable without waiting.
 * When etcd is away it keeps what it last knew, and {@link staleness} says so.
 */
export class RegistryView {
  private readonly mirror: PrefixMirror;
  private readonly state: RegistryState;
  private readonly goneWriter: GoneWriter;
  private readonly fullness: Fullness;
  private readonly stats: StatsLookup;
  private readonly ejections: EjectionLookup;
  private readonly breakers: BreakerLookup | undefined;
  private readonly routes: RegistryViewOptions['routes'];
  private readonly degraded: DegradedWatch | null;
  private readonly recounting = new Ticker(RECOUNT_MS, () => Promise.resolve(this.recount()));
  private readonly clock: Clock;
  private readonly listeners = new Set<() => void>();
  private cached: World | null = null;
  private changes = 0;
  private stopListening: () => void = () => undefined;

  constructor({
    etcd,
    keyPrefix = DEFAULT_KEY_PREFIX,
    tenant,
    logger,
    clock = systemClock,
    refreshIntervalMs,
    stats = NOTHING_MEASURED,
    ejections = NOBODY_EJECTED,
    breakers,
    routes,
    healthThreshold,
  }: RegistryViewOptions) {
    const keys = new Keyspace(keyPrefix, tenant);
    this.clock = clock;
    this.stats = stats;
    this.ejections = ejections;
    this.breakers = breakers;
    this.routes = routes;
    this.degraded =
      healthThreshold === undefined ? null : new DegradedWatch({ threshold: healthThreshold, clock, logger });
    this.fullness = new Fullness(stats, clock);
    this.goneWriter = new GoneWriter({ etcd, keys, logger, clock });
    this.state = new RegistryState({ keys, logger, clock, findings: { measured: this.fullness, ejections } });
    this.mirror = new PrefixMirror({
      etcd,
      prefix: keys.registry,
      refreshIntervalMs,
      logger,
      clock,
      onChanges: (changes) => this.take(changes),
    });
  }

  /** Reads the registry and follows it from then on. @throws ReachError `engine_unavailable`; may be called again. */
  async start(): Promise<void> {
    await this.mirror.start();
    this.stopListening();
    const heard = [
      this.ejections.onChange((name) => this.rebuild([name])),
      this.routes?.onChange(() => this.announce()),
    ];
    this.stopListening = () => heard.forEach((stop) => stop?.());
    // What was ejected or came back between the listing and now.
    this.rebuild(new Set(this.state.all().map(({ name }) => name)));
    this.recounting.start();
  }

  async stop(): Promise<void> {
    this.stopListening();
    await this.recounting.stop();
    this.goneWriter.stop();
    await this.mirror.stop();
  }

  /**
   * An immutable snapshot; the same object until something changes that matters for routing. Versions that did not
   * change keep their identity. `revision` is etcd's revision and the number of changes seen by this process.
   */
  world(): World {
    this.cached ??= Object.freeze({
      revision: `${this.mirror.currentRevision}.${this.changes}`,
      agents: this.state.all(),
      stats: this.stats,
      ...(this.breakers && { breakers: this.breakers }),
      ...(this.routes && { routes: this.routes.current() }),
      ...(this.degraded && { degraded: this.degraded.current }),
    });
    return this.cached;
  }

  /** One agent for people to look at: as in {@link world}, with last heartbeats, remaining lease and counts as of now. */
  agent(name: string): AgentVersion[] {
    return this.state.versions(name).map((version) => ({
      ...version,
      instances: version.instances.map((instance) => this.detailed(name, instance)),
    }));
  }

  /** Where an instance's health is kept, what a record must name to count for it, and the record there is. For the prober. */
  healthOf(
    name: string,
    version: string,
    instance: InstanceState,
  ): { item: string; target: string; record: HealthRecord | null } | null {
    const entry = this.state.entry(name);
    const item = healthItem(version, instance.instance_id);
    const epoch = entry?.instances.get(instance.instance_id)?.epoch;
    const target = instance.source === 'static' ? instance.host : epoch === undefined ? null : leaseTarget(epoch);
    const record = entry?.health.get(item) ?? null;
    return target === null ? null : { item, target, record: record?.target === target ? record : null };
  }

  /** Whether the view is in step with etcd, and how long ago that was last proven. */
  staleness(): { connected: boolean; lastSyncAgeMs: number } {
    return this.mirror.staleness();
  }

  /** Tells after each change that matters for routing. Answers how to stop being told. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private take(changes: MirrorChange[]): void {
    const { changed, expired } = this.state.apply(changes);
    for (const expiry of expired) this.goneWriter.note(expiry);
    if (changed) this.announce();
  }

  private recount(): void {
    this.rebuild(this.fullness.refresh(this.state.all()));
    // Newcomers that do not come: no change in etcd tells of it.
    if (this.degraded?.isWaiting && this.degraded.reassess(this.state.all())) this.announce();
  }

  private rebuild(names: Iterable<string>): void {
    if (this.state.rebuild(names)) this.announce();
  }

  private announce(): void {
    this.degraded?.reassess(this.state.all());
    this.cached = null;
    this.changes += 1;
    for (const listener of this.listeners) listener();
  }

  private detailed(name: string, instance: InstanceState): InstanceState {
    const entry = this.state.entry(name);
    const registration = entry?.instances.get(instance.instance_id);
    const beat = entry?.beats.get(instance.instance_id);
    const inFlight = Math.max(beat?.in_flight ?? 0, this.fullness.inFlight(name, instance.instance_id));
    if (instance.source === 'static' || registration === undefined || beat === undefined)
      return { ...instance, in_flight: inFlight };
    const ttlSec = registration.record.ttl_sec;
    const ageSec = (this.clock.wall().getTime() - Date.parse(beat.last_heartbeat)) / 1_000;
    const remaining = Math.min(ttlSec, Math.max(0, ttlSec - ageSec));
    return {
      ...instance,
      in_flight: inFlight,
      lease_remaining_sec: Math.round(remaining * 10) / 10,
      last_heartbeat: beat.last_heartbeat,
    };
  }
}
