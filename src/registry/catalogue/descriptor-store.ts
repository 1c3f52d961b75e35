import { isDeepStrictEqual } from 'node:util';
import type { Etcd3, IKeyValue, ITxnResponse } from 'etcd3';
import type { Descriptor } from '../../protocol/descriptor';
import { ReachError } from '../../protocol/reach-error';
import type { Clock } from '../clock';
import { refuse } from '../errors';
import { callEtcd } from '../etcd/etcd-client';
import { deletePrefixOp, getOp, getPrefixOp, nothingNewer, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import { assertAgentName, type Keyspace } from '../keys';
import type { Logger } from '../logger';
import { checkNames, type Catalogue } from './name-check';
import { NameIndex } from './name-index';
import { encodeRecord, readRecord, type AgentRecord } from '../records';
import { removeVersion, type RemovedVersion } from './version-removal';

/** etcd refuses requests over 1.5 MiB; a descriptor must leave room for the rest. */
const MAX_DESCRIPTOR_BYTES = 1_048_576;
/** Registrations of other processes that may come between before giving up. */
const MAX_CONFLICTS = 25;

/** How a descriptor is registered. */
export interface RegisterOptions {
  /** Other content may take the place of a registered version. */
  replace?: boolean;
  /** Judge only; nothing is written. */
  dryRun?: boolean;
}

/** What registering a descriptor did (with `dryRun`: would do). */
export interface DescriptorOutcome {
  outcome: 'created' | 'unchanged' | 'replaced';
  registeredAt: string;
  warnings: string[];
}

export interface DescriptorStoreOptions {
  etcd: Etcd3;
  keys: Keyspace;
  logger: Logger;
  clock: Clock;
  /** R15 strict mode: near misses are refused, not warned about. */
  strictNames: boolean;
  /** `breaker.window_sec`: health checks slower than a quarter of it are warned about (R39). */
  breakerWindowSec: number;
}

/** Descriptors in etcd. Names are judged and written in one transaction, so two gateways cannot let a collision in. */
export class DescriptorStore {
  private readonly index = new NameIndex();
  /** Registrations of this process run one by one: in parallel they would only conflict with each other. */
  private last: Promise<unknown> = Promise.resolve();
  /** The last time etcd did not answer one of them. */
  private lastOutage: { atMs: number; error: ReachError } | null = null;

  constructor(private readonly options: DescriptorStoreOptions) {}

  /**
   * Registers one version of an agent. What is registered already takes one read, so that agents which come back
   * together after an outage do not wait for each other (R05); and when etcd fails one, those that waited behind it
   * fail with it instead of waiting for as long one after the other.
   *
   * @throws ReachError `version_exists`, `name_collision`, `invalid_descriptor` (strict names), `payload_too_large`,
   * `engine_unavailable`
   */
  async register(descriptor: Descriptor, options: RegisterOptions = {}): Promise<DescriptorOutcome> {
    const what = `registering agent ${descriptor.name}`;
    const draft = plain(descriptor);
    const judged = await callEtcd(what, async () => this.judgeUnchanged(draft));
    if (judged !== null) return judged;
    const queuedMs = this.options.clock.monotonicMs();
    const result = this.last.then(async () => {
      if (this.lastOutage !== null && this.lastOutage.atMs >= queuedMs) throw this.lastOutage.error;
      return callEtcd(what, () => this.registerNow(draft, options));
    });
    this.last = result.catch((error: unknown) => this.noteOutage(error));
    return result;
  }

  /** Removes all versions and instances of an agent. Answers whether there was one. */
  async delete(name: string): Promise<boolean> {
    assertAgentName(name);
    const { etcd, keys } = this.options;
    const kinds = ['agent', 'instance', 'beat', 'health', 'gone'] as const;
    const success = [
      ...kinds.map((kind) => deletePrefixOp(keys.recordsOf(kind, name))),
      deletePrefixOp(keys.namesOf(name)),
    ];
    const response = await callEtcd(`deleting agent ${name}`, () => etcd.kv.txn({ compare: [], success, failure: [] }));
    return Number(response.responses[0]?.response_delete_range?.deleted ?? 0) > 0;
  }

  /** {@inheritDoc removeVersion} */
  deleteVersion(name: string, version: string): Promise<RemovedVersion | null> {
    assertAgentName(name);
    return removeVersion(this.options, name, version);
  }

  private noteOutage(error: unknown): void {
    if (error instanceof ReachError && error.code === 'engine_unavailable' && error !== this.lastOutage?.error)
      this.lastOutage = { atMs: this.options.clock.monotonicMs(), error };
  }

  /** The answer to a descriptor that is registered already, else null. */
  private async judgeUnchanged(descriptor: Descriptor): Promise<DescriptorOutcome | null> {
    const state = await this.read(descriptor);
    return isRegistered(descriptor, state) ? this.judge(descriptor, state, {}) : null;
  }

  private async registerNow(descriptor: Descriptor, options: RegisterOptions): Promise<DescriptorOutcome> {
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts++) {
      const state = await this.read(descriptor);
      const outcome = this.judge(descriptor, state, options);
      if (options.dryRun === true || outcome.outcome === 'unchanged') return outcome;
      if (await this.write(descriptor, state, outcome)) return outcome;
    }
    throw new ReachError('engine_unavailable', 'Too many registrations at the same time; try again', {
      retryAfterMs: 1_000,
    });
  }

  /** The version's own record and everybody's names, both as of one revision. */
  private async read({ name, version }: Descriptor): Promise<CatalogueState> {
    const { etcd, keys } = this.options;
    const success = [getOp(keys.record('agent', name, version)), getPrefixOp(keys.names)];
    const response = await etcd.kv.txn({ compare: [], success, failure: [] });
    const [own] = readOf(response, 0);
    return {
      revision: response.header.revision,
      ownRevision: own?.mod_revision ?? '0',
      own: own === undefined ? null : readRecord.agent(own.value),
      ...this.catalogue(response, { name, version }),
    };
  }

  private catalogue(
    response: ITxnResponse,
    self: { name: string; version: string },
  ): Pick<CatalogueState, 'catalogue' | 'ownVersions'> {
    const abilities = new Map<string, string>();
    const agents = new Set<string>();
    const ownVersions: string[] = [];
    for (const entry of readOf(response, 1)) {
      const parsed = this.namesOf(entry);
      if (parsed === null) continue;
      if (parsed.name === self.name) ownVersions.push(parsed.version);
      if (parsed.name === self.name && parsed.version === self.version) continue;
      agents.add(parsed.name);
      for (const ability of parsed.abilities) abilities.set(ability, parsed.name);
    }
    return { catalogue: { abilities, agents }, ownVersions };
  }

  private namesOf(entry: IKeyValue): { name: string; version: string; abilities: string[] } | null {
    const place = this.options.keys.parseNames(entry.key.toString());
    const record = readRecord.names(entry.value);
    if (place === null || record === null) {
      this.options.logger.warn({ key: entry.key.toString() }, 'skipped an unreadable record in etcd');
      return null;
    }
    return { ...place, abilities: record.abilities };
  }

  private judge(descriptor: Descriptor, state: CatalogueState, options: RegisterOptions): DescriptorOutcome {
    const found = checkNames(descriptor, state.catalogue, this.index);
    const warnings = [
      ...found.nearMisses.map(({ message, fix }) => `${message}; ${fix}`),
      ...this.healthWarning(descriptor),
    ];
    if (isRegistered(descriptor, state))
      return { outcome: 'unchanged', registeredAt: state.own.registered_at, warnings };
    assertVersionFree(descriptor, state, options.replace === true);
    if (found.collisions.length > 0) throw refuse('name_collision', found.collisions);
    if (this.options.strictNames && found.nearMisses.length > 0) throw refuse('invalid_descriptor', found.nearMisses);
    return {
      outcome: state.ownRevision === '0' ? 'created' : 'replaced',
      registeredAt: this.options.clock.wall().toISOString(),
      warnings,
    };
  }

  private healthWarning({ health_check }: Descriptor): string[] {
    const limit = this.options.breakerWindowSec / 4;
    if (health_check === undefined || health_check.interval_sec <= limit) return [];
    return [
      `health_check.interval_sec ${health_check.interval_sec} is longer than a quarter of the breaker window; use ${limit} or less, or the breaker acts on stale health`,
    ];
  }

  private async write(
    descriptor: Descriptor,
    state: CatalogueState,
    { registeredAt }: DescriptorOutcome,
  ): Promise<boolean> {
    const { etcd, keys } = this.options;
    const { name, version } = descriptor;
    const key = keys.record('agent', name, version);
    const firstAt = state.own?.first_registered_at ?? state.own?.registered_at;
    const since = firstAt === undefined ? {} : { first_registered_at: firstAt };
    const value = encodeRecord({ descriptor, registered_at: registeredAt, ...since } satisfies AgentRecord);
    if (Buffer.byteLength(value) > MAX_DESCRIPTOR_BYTES) {
      throw new ReachError(
        'payload_too_large',
        `The descriptor takes ${Buffer.byteLength(value)} bytes, at most ${MAX_DESCRIPTOR_BYTES} are allowed; shorten schemas or examples`,
      );
    }
    const names = encodeRecord({ abilities: descriptor.capabilities.map((capability) => capability.name) });
    const response = await etcd.kv.txn({
      compare: [unchanged(key, state.ownRevision), nothingNewer(keys.names, state.revision)],
      success: [putOp(key, value), putOp(keys.namesRecord(name, version), names)],
      failure: [],
    });
    return response.succeeded;
  }
}

interface CatalogueState {
  revision: string;
  own: AgentRecord | null;
  /** `'0'` when the version is not registered. */
  ownRevision: string;
  ownVersions: string[];
  catalogue: Catalogue;
}

function isRegistered(descriptor: Descriptor, state: CatalogueState): state is CatalogueState & { own: AgentRecord } {
  return state.own !== null && isDeepStrictEqual(state.own.descriptor, descriptor);
}

/** As it will be read back, so that the same content compares equal. */
function plain(descriptor: Descriptor): Descriptor {
  const record = readRecord.agent(Buffer.from(encodeRecord({ descriptor, registered_at: '' })));
  if (record !== null) return record.descriptor;
  throw new ReachError(
    'invalid_descriptor',
    'The descriptor lacks what every descriptor has; parse it before registering it',
  );
}

function assertVersionFree({ name, version }: Descriptor, state: CatalogueState, replace: boolean): void {
  if (state.ownRevision !== '0' && !replace) {
    throw new ReachError(
      'version_exists',
      `Agent ${name} has version ${version} with other content; publish a new version, or register with replace=true`,
    );
  }
  const rival = state.ownVersions.find((other) => other !== version && withoutBuild(other) === withoutBuild(version));
  if (rival !== undefined) {
    throw new ReachError(
      'version_exists',
      `Version ${version} of agent ${name} ranks the same as its version ${rival} (build metadata does not count, semver § 10); raise the version`,
    );
  }
}

function withoutBuild(version: string): string {
  return version.split('+')[0] ?? version;
}
