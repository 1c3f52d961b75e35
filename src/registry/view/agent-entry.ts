/** Turns the records of one agent into the {@link AgentVersion}s that routing reads. Pure but for the injected findings. */
import type { Descriptor } from '../../protocol/descriptor';
import type { InstanceState } from '../../protocol/shapes';
import type { AgentVersion } from '../../protocol/world';
import { effectiveStatus, type StatusInputs } from './effective-status';
import { queuePlace } from '../../protocol/queue-endpoint';
import { STATIC_INSTANCE_PREFIX } from '../../protocol/instance-id';
import type { EjectionLookup } from '../limits/ejections';
import type { AgentRecord, BeatRecord, GoneRecord, HealthRecord, InstanceRecord } from '../records';

/** Past instances shown per version, newest first. */
const MAX_GONE = 16;
const UNPROBED: StatusInputs['health'] = { state: 'unknown', since: '', reason: '' };

/** A registration with the revision that is its epoch. */
export interface RegisteredInstance {
  record: InstanceRecord;
  epoch: string;
}

/** All that etcd holds of one agent. */
export interface AgentEntry {
  versions: Map<string, AgentRecord>;
  instances: Map<string, RegisteredInstance>;
  beats: Map<string, BeatRecord>;
  /** The status last reported; kept until the registration goes, which may be after its last heartbeat went. */
  lastStatus: Map<string, string>;
  health: Map<string, HealthRecord>;
  gone: Map<string, GoneRecord>;
}

/** What this platform measures itself of an instance. */
export interface Measured {
  inFlight(agentName: string, instanceId: string): number;
  /** Since when the measured count has been at the instance's limit, ISO 8601; null when it is below. */
  fullSince(agentName: string, instanceId: string): string | null;
}

/** Who is left alone for failing in a row; as of `Ejections`. */
export type EjectionsOf = Pick<EjectionLookup, 'of'>;

/** What the processes find out themselves, beside what instances report. */
export interface Findings {
  measured: Measured;
  ejections: EjectionsOf;
}

export function emptyEntry(): AgentEntry {
  return {
    versions: new Map(),
    instances: new Map(),
    beats: new Map(),
    lastStatus: new Map(),
    health: new Map(),
    gone: new Map(),
  };
}

/** What a health record must name to count for a registration: another one under the same id starts unknown. */
export function leaseTarget(epoch: string): string {
  return `epoch:${epoch}`;
}

/**
 * The addresses of a descriptor, one static instance each. That of a queue names its broker, which says nothing of whether
 * anybody takes calls from it: only where its consumers cannot register does it stand for them.
 */
export function staticAddresses(descriptor: Descriptor): { instanceId: string; host: string }[] {
  const { endpoint } = descriptor;
  if (endpoint?.protocol === 'mq' && endpoint.consumers !== 'anonymous') return [];
  const address = descriptor.endpoint?.address;
  const hosts = address === undefined ? [] : typeof address === 'string' ? [address] : address;
  return hosts.map((host, position) => ({ instanceId: `${STATIC_INSTANCE_PREFIX}${position}`, host }));
}

/** Static instances of several versions share ids; their health is told apart by version. */
export function healthItem(version: string, instanceId: string): string {
  return instanceId.startsWith(STATIC_INSTANCE_PREFIX) ? `${instanceId}@${version}` : instanceId;
}

/**
 * Builds one version. Parts that equal those of `previous` are reused, and `previous` itself when nothing differs,
 * so that readers may cache by reference. Times that pass by themselves (lease, last heartbeat) are left out here.
 */
export function buildVersion(
  record: AgentRecord,
  entry: AgentEntry,
  findings: Findings,
  previous?: AgentVersion,
): AgentVersion {
  const { descriptor } = record;
  const instances = [...staticInstances(record, entry, findings), ...leasedInstances(record, entry, findings)];
  const reused = reuse(instances, previous?.instances);
  const gone = reuse(goneInstances(descriptor.version, entry), previous?.gone);
  if (
    previous !== undefined &&
    previous.descriptor === descriptor &&
    previous.instances === reused &&
    previous.gone === gone
  )
    return previous;
  return Object.freeze({
    name: descriptor.name,
    version: descriptor.version,
    descriptor,
    registered_at: record.registered_at,
    ...(record.first_registered_at !== undefined && { first_registered_at: record.first_registered_at }),
    instances: reused,
    gone,
  });
}

function staticInstances(
  { descriptor, registered_at }: AgentRecord,
  entry: AgentEntry,
  findings: Findings,
): InstanceState[] {
  return staticAddresses(descriptor).map(({ instanceId, host }) => {
    const found = entry.health.get(healthItem(descriptor.version, instanceId));
    const facts: InstanceFacts = {
      descriptor,
      instanceId,
      host,
      registeredAt: registered_at,
      maxConcurrency: descriptor.max_concurrency ?? null,
      health: found?.target === host ? found : UNPROBED,
      beat: null,
      source: 'static',
    };
    return toState(facts, findings);
  });
}

function leasedInstances({ descriptor }: AgentRecord, entry: AgentEntry, findings: Findings): InstanceState[] {
  const ids = [...entry.instances.keys()].filter(
    (id) => entry.instances.get(id)?.record.version === descriptor.version,
  );
  return ids.sort().map((instanceId) => {
    const { record, epoch } = entry.instances.get(instanceId)!;
    const found = entry.health.get(instanceId);
    const facts: InstanceFacts = {
      descriptor,
      instanceId,
      // All consumers of a queue are called where it is.
      host: queuePlace(descriptor)?.address ?? record.host,
      registeredAt: record.registered_at,
      maxConcurrency: record.max_concurrency ?? descriptor.max_concurrency ?? null,
      health: found?.target === leaseTarget(epoch) ? found : UNPROBED,
      beat: entry.beats.get(instanceId) ?? null,
      source: 'lease',
    };
    return toState(facts, findings);
  });
}

interface InstanceFacts {
  descriptor: Descriptor;
  instanceId: string;
  host: string | null;
  registeredAt: string;
  maxConcurrency: number | null;
  health: StatusInputs['health'];
  beat: BeatRecord | null;
  source: InstanceState['source'];
}

function toState(facts: InstanceFacts, { measured, ejections }: Findings): InstanceState {
  const { descriptor, instanceId, maxConcurrency, beat, health } = facts;
  const fullSince = maxConcurrency === null ? null : measured.fullSince(descriptor.name, instanceId);
  const inFlight = Math.max(
    beat?.in_flight ?? 0,
    fullSince === null ? 0 : measured.inFlight(descriptor.name, instanceId),
  );
  const ejection = ejections.of(descriptor.name, instanceId, descriptor.version);
  const status = effectiveStatus({
    reported:
      facts.source === 'static' ? null : { status: beat?.status ?? 'ready', since: beat?.since ?? facts.registeredAt },
    registeredAt: facts.registeredAt,
    inFlight,
    fullSince,
    maxConcurrency,
    health,
    ejected: ejection && { since: ejection.since.toISOString(), reason: ejection.reason },
    gone: null,
  });
  return Object.freeze({
    instance_id: instanceId,
    host: facts.host,
    version: descriptor.version,
    ...status,
    load: beat?.load ?? 0,
    in_flight: inFlight,
    max_concurrency: maxConcurrency,
    health: health.state,
    ...(ejection && { ejected_until: ejection.until.toISOString() }),
    ...(fullSince !== null && status.status === 'busy' && { full_by_count: true as const }),
    source: facts.source,
  });
}

function goneInstances(version: string, entry: AgentEntry): InstanceState[] {
  const past = [...entry.gone].filter(([id, record]) => record.version === version && !entry.instances.has(id));
  past.sort(([, a], [, b]) => (a.at < b.at ? 1 : -1));
  return past.slice(0, MAX_GONE).map(([instanceId, record]) => goneState(instanceId, record));
}

function goneState(instanceId: string, record: GoneRecord): InstanceState {
  const status = effectiveStatus({
    reported: null,
    registeredAt: record.at,
    inFlight: 0,
    fullSince: null,
    maxConcurrency: null,
    health: UNPROBED,
    ejected: null,
    gone: { cause: record.cause, at: record.at, lastStatus: record.last_status },
  });
  return Object.freeze({
    instance_id: instanceId,
    host: record.host,
    version: record.version,
    ...status,
    load: 0,
    in_flight: 0,
    max_concurrency: null,
    health: 'unknown',
    source: 'lease',
  });
}

/** `next` with equal elements of `previous` in the place of new ones; `previous` itself when all are. */
function reuse(next: InstanceState[], previous: InstanceState[] | undefined): InstanceState[] {
  if (previous === undefined) return Object.freeze(next) as InstanceState[];
  const known = new Map(previous.map((instance) => [instance.instance_id, instance]));
  const merged = next.map((instance) => {
    const old = known.get(instance.instance_id);
    return old !== undefined && sameInstance(old, instance) ? old : instance;
  });
  const same =
    merged.length === previous.length && merged.every((instance, position) => instance === previous[position]);
  return same ? previous : (Object.freeze(merged) as InstanceState[]);
}

function sameInstance(a: InstanceState, b: InstanceState): boolean {
  const keys = Object.keys(b) as (keyof InstanceState)[];
  return keys.length === Object.keys(a).length && keys.every((key) => a[key] === b[key]);
}
