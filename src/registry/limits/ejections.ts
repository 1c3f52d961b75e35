import { randomUUID } from 'node:crypto';
import { ejectionMs, FailureStreaks, maxEjected, type EjectionSettings } from '../../policy/ejection';
import { utcTime } from '../../protocol/clock-time';
import { systemClock, type Clock } from '../clock';
import { PrefixMirror, type MirrorChange } from '../mirror/prefix-mirror';
import { Keyspace } from '../keys';
import type { Logger } from '../logger';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { Ticker } from '../ticker';
import { itemOf, remainingMs, timesOf, type EjectionEntry, type SeenEntry } from './ejection-record';
import { EjectionStore } from './ejection-store';

const AUDIT_MS = 30_000;
/** How often ends of ejections are looked for, ms. */
const TICK_MS = 250;
/** After etcd failed, nothing is written for this long, ms. */
const PAUSE_MS = 1_000;

/** An ejection as the view and people see it. */
export interface Ejection {
  /** Wall clock, for people. */
  since: Date;
  /** Wall clock, for people; what counts is {@link remainingMs}. */
  until: Date;
  /** `ejected after 5 failures in a row, back at 12:03:01 UTC` */
  reason: string;
  remainingMs: number;
}

/** Ejections as the view asks for them, without waiting. */
export interface EjectionLookup {
  /** Static instances of several versions share their ids: name the version where it is known. */
  of(agentName: string, instanceId: string, agentVersion?: string): Ejection | null;
  /** Tells the agent when an ejection of one of its instances begins or ends. Answers how to stop being told. */
  onChange(listener: (agentName: string) => void): () => void;
}

export interface EjectionsOptions extends RegistryOptions, EjectionSettings {
  /** Ids of the instances a version has now, ejected ones included; asked when one may be ejected, so it may read the view. */
  instances(agentName: string, agentVersion: string): readonly string[];
}

/** How one attempt at an instance ended. Leave out what says nothing about it (its 4xx, our own faults, cancelled). */
export interface InstanceReport {
  agentName: string;
  agentVersion: string;
  instanceId: string;
  failed: boolean;
}

/**
 * Instances left alone for failing again and again. Failures in a row are counted by each process; who is out is one
 * key per agent, changed by compare-and-swap, so that the share of a version that may be out holds over all processes.
 * What succeeds costs no write. While etcd is away nobody is ejected anew, and those who are come back by this
 * process's own clock.
 */
export class Ejections implements EjectionLookup {
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly mirror: PrefixMirror;
  private readonly store: EjectionStore;
  private readonly streaks = new FailureStreaks();
  private readonly ticker = new Ticker(TICK_MS, () => Promise.resolve(this.tick()));
  private readonly listeners = new Set<(agentName: string) => void>();
  /** Ejections that this process holds to be in force: by agent, the ids. */
  private readonly announced = new Map<string, string>();
  private readonly changing = new Map<string, Promise<void>>();
  private pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: EjectionsOptions) {
    const { etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, logger, clock = systemClock } = options;
    this.clock = clock;
    this.logger = logger;
    const keys = new Keyspace(keyPrefix, tenant);
    this.store = new EjectionStore({ etcd, keys, logger, clock, settings: options });
    const onChanges = (changes: MirrorChange[]) => {
      for (const agentName of this.store.apply(changes)) this.announce(agentName);
    };
    const refreshIntervalMs = AUDIT_MS;
    this.mirror = new PrefixMirror({ etcd, prefix: keys.ejections, refreshIntervalMs, logger, clock, onChanges });
  }

  /** Reads who is ejected and follows it. @throws ReachError `engine_unavailable`; may be called again. */
  async start(): Promise<void> {
    await this.mirror.start();
    this.ticker.start();
  }

  async stop(): Promise<void> {
    await this.ticker.stop();
    await this.mirror.stop();
    await Promise.all(this.changing.values());
  }

  /** Counts one outcome. The failure that makes the row full begins an ejection, in the background. */
  report({ agentName, agentVersion, instanceId, failed }: InstanceReport): void {
    const item = itemOf(instanceId, agentVersion);
    // Calls that were under way when it was ejected say nothing new.
    if (remainingMs(this.store.seen(agentName).get(item), this.clock.monotonicMs()) > 0) return;
    const failures = this.streaks.note(`${agentName}/${item}`, failed);
    if (failures < this.options.consecutiveFailures) return;
    const eject = () => this.ejected(agentName, { instanceId, agentVersion, failures });
    if (eject() !== null) this.change(`${agentName}/${item}`, agentName, eject);
  }

  /** {@inheritDoc EjectionLookup.of} */
  of(agentName: string, instanceId: string, agentVersion?: string): Ejection | null {
    const seen = this.store.seen(agentName);
    if (agentVersion !== undefined) return this.asEjection(seen.get(itemOf(instanceId, agentVersion)));
    for (const one of seen.values()) {
      const ejection = one.entry.instance_id === instanceId ? this.asEjection(one) : null;
      if (ejection !== null) return ejection;
    }
    return null;
  }

  /** When the first of an agent's ejected instances returns, ms from now; null when none is ejected: for `Retry-After`. */
  soonestReturnMs(agentName: string): number | null {
    const nowMs = this.clock.monotonicMs();
    const out = [...this.store.seen(agentName).values()].map((one) => remainingMs(one, nowMs)).filter((ms) => ms > 0);
    return out.length === 0 ? null : Math.min(...out);
  }

  /** {@inheritDoc EjectionLookup.onChange} */
  onChange(listener: (agentName: string) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private asEjection(seen: SeenEntry | undefined): Ejection | null {
    const left = remainingMs(seen, this.clock.monotonicMs());
    if (seen === undefined || left <= 0) return null;
    const { failures, since, until } = seen.entry;
    const reason = `ejected after ${failures} failures in a row, back at ${utcTime(until)}`;
    return { since: new Date(since), until: new Date(until), reason, remainingMs: left };
  }

  /** The entries with one more ejected, as of what is known now; null when that may not or need not be. */
  private ejected(
    agentName: string,
    { instanceId, agentVersion, failures }: { instanceId: string; agentVersion: string; failures: number },
  ): EjectionEntry[] | null {
    const seen = this.store.seen(agentName);
    const item = itemOf(instanceId, agentVersion);
    const known = seen.get(item);
    if (known?.entry.state === 'out' || this.room(agentName, agentVersion) < 1) return null;
    const nowMs = this.clock.monotonicMs();
    const times = timesOf(known, nowMs, this.options) + 1;
    const durationMs = ejectionMs(times, this.options);
    const now = this.clock.wall();
    const entry: EjectionEntry = {
      id: randomUUID(),
      instance_id: instanceId,
      version: agentVersion,
      state: 'out',
      times,
      duration_ms: durationMs,
      failures,
      since: now.toISOString(),
      until: new Date(now.getTime() + durationMs).toISOString(),
    };
    const others = [...seen].filter(([other, one]) => other !== item && this.counts(one, nowMs));
    return [...others.map(([, one]) => one.entry), entry];
  }

  /**
   * How many more of a version may be ejected; negative when instances have gone and too many of the rest are out.
   * An entry counts as out until it is written that it is back, whatever this process's clock says.
   */
  private room(agentName: string, agentVersion: string): number {
    const ids = new Set(this.options.instances(agentName, agentVersion));
    const isOut = ({ entry }: SeenEntry) =>
      entry.state === 'out' && entry.version === agentVersion && ids.has(entry.instance_id);
    const out = [...this.store.seen(agentName).values()].filter(isOut).length;
    return maxEjected(ids.size, this.options.maxPercent) - out;
  }

  private counts(seen: SeenEntry, nowMs: number): boolean {
    return seen.entry.state === 'out' || timesOf(seen, nowMs, this.options) > 0;
  }

  private tick(): void {
    for (const agentName of this.store.agents()) {
      this.announce(agentName);
      const comeBack = () => this.returned(agentName);
      if (comeBack() !== null) this.change(agentName, agentName, comeBack);
    }
  }

  /** The entries with those back whose time is over, and those for whom there is no room any more; null when there are none. */
  private returned(agentName: string): EjectionEntry[] | null {
    const nowMs = this.clock.monotonicMs();
    const seen = [...this.store.seen(agentName).values()];
    const back = new Set(seen.filter((one) => one.entry.state === 'out' && remainingMs(one, nowMs) <= 0));
    for (const version of new Set(seen.map(({ entry }) => entry.version)))
      for (const one of this.surplus(agentName, version)) back.add(one);
    if (back.size === 0) return null;
    const kept = seen.filter((one) => this.counts(one, nowMs));
    return kept.map((one) => (back.has(one) ? { ...one.entry, state: 'back' as const } : one.entry));
  }

  /** Ejected instances beyond the allowed share, those that would return first. */
  private surplus(agentName: string, version: string): SeenEntry[] {
    const over = -this.room(agentName, version);
    if (over <= 0) return [];
    const nowMs = this.clock.monotonicMs();
    const ids = new Set(this.options.instances(agentName, version));
    return [...this.store.seen(agentName).values()]
      .filter(({ entry }) => entry.state === 'out' && entry.version === version && ids.has(entry.instance_id))
      .sort((a, b) => remainingMs(a, nowMs) - remainingMs(b, nowMs))
      .slice(0, over);
  }

  /** Writes a change in the background, one at a time per key. */
  private change(key: string, agentName: string, edit: () => EjectionEntry[] | null): void {
    if (this.changing.has(key) || this.clock.monotonicMs() < this.pausedUntilMs) return;
    const done = this.store
      .change(agentName, edit)
      .then(() => this.announce(agentName))
      .catch((error: unknown) => {
        this.pausedUntilMs = this.clock.monotonicMs() + PAUSE_MS;
        this.logger.debug({ agent: agentName, error }, 'an ejection could not be written; trying again');
      })
      .finally(() => this.changing.delete(key));
    this.changing.set(key, done);
  }

  /** Tells when other instances are out than told last. */
  private announce(agentName: string): void {
    const nowMs = this.clock.monotonicMs();
    const out = [...this.store.seen(agentName)].filter(([, one]) => remainingMs(one, nowMs) > 0);
    for (const [item] of out) this.streaks.forget(`${agentName}/${item}`);
    const ids = out.map(([, { entry }]) => entry.id).join();
    if (ids === (this.announced.get(agentName) ?? '')) return;
    if (ids === '') this.announced.delete(agentName);
    else this.announced.set(agentName, ids);
    this.logger.info({ agent: agentName, ejected: out.map(([item]) => item) }, 'the ejected instances are others now');
    for (const listener of this.listeners) listener(agentName);
  }
}
