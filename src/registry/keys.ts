import { AGENT_NAME } from '../protocol/envelope';
import { INSTANCE_ID, STATIC_INSTANCE_PREFIX } from '../protocol/instance-id';
import { ReachError } from '../protocol/reach-error';
import { invalidField } from './errors';

/** What a key of the view's tree holds. */
export type RecordKind = 'agent' | 'instance' | 'beat' | 'health' | 'gone';
const KINDS: ReadonlySet<string> = new Set<RecordKind>(['agent', 'instance', 'beat', 'health', 'gone']);

/** A key taken apart: for `agent` the item is a version, else an instance id. */
export interface ParsedKey {
  kind: RecordKind;
  name: string;
  item: string;
}

/**
 * Where everything lies in etcd:
 * `PREFIX/TENANT/registry/KIND/NAME/ITEM`, `…/names/NAME/VERSION`, `…/stats/PROCESS/NAME`, `…/leader/ROLE`, `…/secret/NAME`.
 * Segments are percent-encoded, so no name or id can climb out of its own.
 */
export class Keyspace {
  private readonly base: string;

  /** @throws RangeError when prefix or tenant is empty. */
  constructor(keyPrefix: string, tenant: string) {
    if (keyPrefix === '' || tenant === '')
      throw new RangeError(`keyPrefix '${keyPrefix}' and tenant '${tenant}' must not be empty`);
    this.base = `${keyPrefix.replace(/\/+$/, '')}/${segment(tenant)}`;
  }

  /** The tree that views mirror. */
  get registry(): string {
    return `${this.base}/registry/`;
  }

  /** Ability names by agent and version: small, so that a registration can read them all. */
  get names(): string {
    return `${this.base}/names/`;
  }

  get stats(): string {
    return `${this.base}/stats/`;
  }

  record(kind: RecordKind, name: string, item: string): string {
    return `${this.registry}${kind}/${segment(name)}/${segment(item)}`;
  }

  /** Prefix of all items of one agent. */
  recordsOf(kind: RecordKind, name: string): string {
    return `${this.registry}${kind}/${segment(name)}/`;
  }

  namesOf(name: string): string {
    return `${this.names}${segment(name)}/`;
  }

  namesRecord(name: string, version: string): string {
    return `${this.namesOf(name)}${segment(version)}`;
  }

  digest(processId: string, name: string): string {
    return `${this.stats}${segment(processId)}/${segment(name)}`;
  }

  /** What each process saw asked of agents: of the last minutes, and of the hour before. */
  get demand(): string {
    return `${this.base}/demand/`;
  }

  /** States of the circuit breakers: one key per ability of a version that ever tripped. */
  get breakers(): string {
    return `${this.base}/breakers/`;
  }

  /** What each process saw of the abilities lately, for the breakers. */
  get breakerWindows(): string {
    return `${this.base}/breaker-windows/`;
  }

  /** Ejected instances, one key per agent. */
  get ejections(): string {
    return `${this.base}/ejections/`;
  }

  /** Live workers, one key each. */
  get workers(): string {
    return `${this.base}/workers/`;
  }

  /** Slots of concurrent retries, per agent. */
  get retrySlots(): string {
    return `${this.base}/retry-slots/`;
  }

  /** Redrives and discards of dead letters. */
  get deadLetters(): string {
    return `${this.base}/dead-letters/`;
  }

  /** What agents have done already, by agent and business key. */
  get deduplication(): string {
    return `${this.base}/deduplication/`;
  }

  /** Nested reaches by the reach that made them. */
  get treeChildren(): string {
    return `${this.base}/tree/children/`;
  }

  /** Last signs of agents that accepted, by reach, run and attempt. */
  get signs(): string {
    return `${this.base}/signs/`;
  }

  /** Results that came when nobody waited any more, by reach. */
  get lateResults(): string {
    return `${this.base}/late-results/`;
  }

  /** Retries of trees of reaches, by the run that the tree grew from. */
  get treeRetries(): string {
    return `${this.base}/tree/retries/`;
  }

  /** Subscriptions to topics, one key each. */
  get subscriptions(): string {
    return `${this.base}/subscriptions/`;
  }

  /** How the versions of agents share their calls (R21). */
  get routes(): string {
    return `${this.base}/routes/`;
  }

  /** Comparisons of canaries with the stable version that are under way. */
  get canaryTrials(): string {
    return `${this.base}/canary-trials/`;
  }

  /** Alerts that were raised lately, each under a lease: of many processes one raises it. */
  get alerts(): string {
    return `${this.base}/alerts/`;
  }

  /** Shared contexts (R32), below each its fields. */
  get contexts(): string {
    return `${this.base}/contexts/`;
  }

  /** Which fields of contexts refer to which blob, and blobs that are being removed. */
  get contextClaims(): string {
    return `${this.base}/context-claims/`;
  }

  /** A key below one of the prefixes, each part percent-encoded. */
  under(prefix: string, ...parts: string[]): string {
    return prefix + parts.map(segment).join('/');
  }

  /** The parts of a key below a prefix; null unless there are `count`. */
  partsUnder(prefix: string, key: string, count: number): string[] | null {
    return key.startsWith(prefix) ? splitPath(key.slice(prefix.length), count) : null;
  }

  leader(role: string): string {
    return `${this.base}/leader/${segment(role)}`;
  }

  secret(name: string): string {
    return `${this.base}/secret/${segment(name)}`;
  }

  /** The parts of a key below {@link registry}; null for anything else. */
  parse(key: string): ParsedKey | null {
    if (!key.startsWith(this.registry)) return null;
    const parts = splitPath(key.slice(this.registry.length), 3);
    if (parts === null || !KINDS.has(parts[0] ?? '')) return null;
    const [kind, name, item] = parts as [RecordKind, string, string];
    return { kind, name, item };
  }

  /** Process and agent of a digest's key; null for anything else. */
  parseDigest(key: string): { processId: string; name: string } | null {
    const parts = key.startsWith(this.stats) ? splitPath(key.slice(this.stats.length), 2) : null;
    return parts === null ? null : { processId: parts[0] ?? '', name: parts[1] ?? '' };
  }

  /** Agent and version of a names record's key; null for anything else. */
  parseNames(key: string): { name: string; version: string } | null {
    const parts = key.startsWith(this.names) ? splitPath(key.slice(this.names.length), 2) : null;
    return parts === null ? null : { name: parts[0] ?? '', version: parts[1] ?? '' };
  }
}

/** @throws ReachError `invalid_request` naming the rule. */
export function assertInstanceId(instanceId: string): void {
  if (!INSTANCE_ID.test(instanceId))
    throw invalidField(
      '/instance_id',
      'letters, digits, . _ - up to 128 characters',
      'use for example host name and process id',
    );
  if (instanceId.startsWith(STATIC_INSTANCE_PREFIX)) {
    throw invalidField(
      '/instance_id',
      `ids starting with ${STATIC_INSTANCE_PREFIX} belong to static addresses`,
      'choose another id',
    );
  }
}

/** @throws ReachError `agent_not_found`: a name that cannot be an agent's is simply unknown. */
export function assertAgentName(name: string): void {
  if (!AGENT_NAME.test(name))
    throw new ReachError(
      'agent_not_found',
      `There is no agent ${JSON.stringify(name.slice(0, 64))}; names are lower-case letters, digits, _ and -`,
    );
}

function segment(text: string): string {
  return encodeURIComponent(text);
}

function splitPath(rest: string, count: number): string[] | null {
  const parts = rest.split('/');
  if (parts.length !== count) return null;
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return null;
  }
}
