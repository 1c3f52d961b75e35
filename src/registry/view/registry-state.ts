import { compare } from 'semver';
import type { Descriptor } from '../../protocol/descriptor';
import type { AgentVersion } from '../../protocol/world';
import { buildVersion, emptyEntry, type AgentEntry, type Findings } from './agent-entry';
import type { Clock } from '../clock';
import { GONE_TTL_SEC } from '../instances/departures';
import type { Keyspace, ParsedKey } from '../keys';
import type { Logger } from '../logger';
import type { MirrorChange } from '../mirror/prefix-mirror';
import type { MirrorEntry } from '../mirror/prefix-watch';
import { readRecord, type GoneRecord } from '../records';

/** An instance whose registration vanished without a word. */
export interface Expiry {
  name: string;
  instanceId: string;
  record: GoneRecord;
}

export interface RegistryStateOptions {
  keys: Keyspace;
  logger: Logger;
  clock: Clock;
  findings: Findings;
}

/** The records of all agents and what routing sees of them, brought up to date change by change. No I/O. */
export class RegistryState {
  private readonly entries = new Map<string, AgentEntry>();
  private readonly built = new Map<string, AgentVersion[]>();
  private sorted: readonly AgentVersion[] | null = null;

  constructor(private readonly options: RegistryStateOptions) {}

  /** All versions of all agents, by name, then version. The same array until something changes. */
  all(): readonly AgentVersion[] {
    this.sorted ??= Object.freeze([...this.built.keys()].sort().flatMap((name) => this.built.get(name) ?? []));
    return this.sorted;
  }

  /** The versions of one agent, lowest first. */
  versions(name: string): readonly AgentVersion[] {
    return this.built.get(name) ?? [];
  }

  entry(name: string): AgentEntry | undefined {
    return this.entries.get(name);
  }

  /** Applies changes of keys. Answers whether routing sees a difference, and who expired. */
  apply(changes: MirrorChange[]): { changed: boolean; expired: Expiry[] } {
    const dirty = new Set<string>();
    const vanished: Expiry[] = [];
    for (const change of changes) {
      const place = this.options.keys.parse(change.key);
      if (place === null) continue;
      const expiry = this.applyOne(place, change);
      if (expiry !== null) vanished.push(expiry);
      dirty.add(place.name);
    }
    const expired = vanished.filter(
      ({ name, instanceId, record }) =>
        this.entries.get(name)?.gone.get(instanceId) === record && this.entries.get(name)?.versions.has(record.version),
    );
    return { changed: this.rebuild(dirty), expired };
  }

  /** Builds these agents again. Answers whether routing sees a difference. */
  rebuild(names: Iterable<string>): boolean {
    let changed = false;
    for (const name of names) changed = this.rebuildOne(name) || changed;
    if (changed) this.sorted = null;
    return changed;
  }

  private applyOne(place: ParsedKey, { key, entry }: MirrorChange): Expiry | null {
    const agent = this.entries.get(place.name) ?? emptyEntry();
    this.entries.set(place.name, agent);
    if (entry === null) return this.remove(agent, place);
    if (!this.put(agent, place, entry)) {
      this.options.logger.warn({ key }, 'skipped an unreadable record in etcd');
      this.remove(agent, place);
    }
    return null;
  }

  /** Answers false for a value that cannot be read. */
  private put(agent: AgentEntry, { kind, name, item }: ParsedKey, { value, modRevision }: MirrorEntry): boolean {
    switch (kind) {
      case 'agent': {
        const record = readRecord.agent(value);
        if (record?.descriptor.name !== name || record.descriptor.version !== item) return false;
        return set(agent.versions, item, { ...record, descriptor: deepFreeze<Descriptor>(record.descriptor) });
      }
      case 'instance': {
        const record = readRecord.instance(value);
        return set(agent.instances, item, record && { record, epoch: String(modRevision) });
      }
      case 'beat': {
        const record = readRecord.beat(value);
        if (record !== null) agent.lastStatus.set(item, record.status);
        return set(agent.beats, item, record);
      }
      case 'health':
        return set(agent.health, item, readRecord.health(value));
      case 'gone':
        return set(agent.gone, item, readRecord.gone(value));
    }
  }

  private remove(agent: AgentEntry, { kind, name, item }: ParsedKey): Expiry | null {
    if (kind === 'agent') agent.versions.delete(item);
    if (kind === 'beat') agent.beats.delete(item);
    if (kind === 'health') agent.health.delete(item);
    if (kind === 'gone') agent.gone.delete(item);
    return kind === 'instance' ? this.removeInstance(agent, name, item) : null;
  }

  private removeInstance(agent: AgentEntry, name: string, instanceId: string): Expiry | null {
    const instance = agent.instances.get(instanceId);
    const lastStatus = agent.lastStatus.get(instanceId) ?? 'ready';
    agent.instances.delete(instanceId);
    agent.lastStatus.delete(instanceId);
    // What went with its agent or its version was not lost.
    if (instance === undefined || !agent.versions.has(instance.record.version)) return null;
    const { version, host } = instance.record;
    const now = this.options.clock.wall();
    const record: GoneRecord = { version, host, cause: 'expired', last_status: lastStatus, at: now.toISOString() };
    agent.gone.set(instanceId, record);
    forgetOld(agent.gone, now);
    return { name, instanceId, record };
  }

  private rebuildOne(name: string): boolean {
    const entry = this.entries.get(name);
    const before = this.built.get(name) ?? [];
    if (entry === undefined) return false;
    if (entry.versions.size === 0) entry.gone.clear();
    const after = [...entry.versions.values()]
      .sort((a, b) => compare(a.descriptor.version, b.descriptor.version))
      .map((record) =>
        buildVersion(
          record,
          entry,
          this.options.findings,
          before.find(({ version }) => version === record.descriptor.version),
        ),
      );
    if (isEmpty(entry)) this.entries.delete(name);
    if (after.length === before.length && after.every((version, position) => version === before[position]))
      return false;
    if (after.length === 0) this.built.delete(name);
    else this.built.set(name, after);
    return true;
  }
}

function set<Value>(map: Map<string, Value>, item: string, value: Value | null): boolean {
  if (value !== null) map.set(item, value);
  return value !== null;
}

function isEmpty(entry: AgentEntry): boolean {
  return Object.values(entry).every((map: ReadonlyMap<string, unknown>) => map.size === 0);
}

function forgetOld(gone: Map<string, GoneRecord>, now: Date): void {
  const limit = new Date(now.getTime() - GONE_TTL_SEC * 1_000).toISOString();
  for (const [instanceId, record] of gone) if (record.at < limit) gone.delete(instanceId);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
