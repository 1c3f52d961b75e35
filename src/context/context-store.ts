import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Etcd3, IKeyValue, ITxnResponse } from 'etcd3';
import { MAX_CONTEXT_VALUE_BYTES, type Context, type ContextPatched } from '../protocol/context';
import { ReachError } from '../protocol/reach-error';
import { systemClock, type Clock } from '../registry/clock';
import { isLeaseGone, isOutOfSpace } from '../registry/etcd/etcd-client';
import { getOp, getPrefixOp, prefixRange } from '../registry/etcd/etcd-ops';
import { Keyspace } from '../registry/keys';
import { BatchClaims } from './batch-claims';
import { changesOf, type Changes } from './changes';
import { ClaimKeys } from './claim-keys';
import { planClaims } from './claim-plan';
import { ClaimReader, NO_BLOBS, type ClaimSettings } from './claim-reader';
import { ContextKeys } from './context-keys';
import { ContextLeases } from './context-leases';
import { ContextMeter, type Batch } from './context-meter';
import type { PatchOperation } from './encoded';
import { overRequestLimit, reading, writing } from './etcd-faults';
import type { LargeContext } from './large-context';
import { FOLD_AT, foldList } from './list-folding';
import { patchedBy, setbackOf, type Judging } from './outcomes';
import { PatchBodies } from './patch-body';
import { decodeFields, type Stamp, type StoredField } from './stored';
import {
  itemsAfter,
  lookOf,
  sizeOf,
  transactionOf,
  type ListState,
  type Transaction,
  type WriteContext,
} from './transaction';

/** What a store is made of; one for each tenant. */
export interface ContextStoreOptions {
  /** Made by `createEtcd`, whose time limits this relies on. */
  etcd: Etcd3;
  keyPrefix: string;
  tenant: string;
  /** A context vanishes when it was not written to for so long, ms. */
  ttlMs: number;
  logger: { debug(details: object, message: string): void };
  /** Where large values go. Without it every value is in etcd, and none may be over 1 MiB. */
  claims?: ClaimSettings;
  /** Appends of a list that are kept one by one before they are folded. Default 100. */
  foldAt?: number;
  clock?: Clock;
  random?: () => number;
}

/** A batch to write. */
export interface PatchRequest {
  contextId: string;
  operations: readonly PatchOperation[];
  /** The principal. */
  by: string;
}

/** What a batch is written with, through all its tries. */
interface Commit {
  keys: ContextKeys;
  lease: string;
  by: string;
  judging: Judging;
}

/** All large values of a context together, in largest values. */
const LARGE_VALUES = 4;
/** Each lost race means that somebody else got on with the same field; so many in a row are no race any more. */
const MAX_TRIES = 16;
/** Longest first pause after a lost race, ms; doubled each time up to {@link PAUSE_CAP_MS}. */
const PAUSE_MS = 2;
const PAUSE_CAP_MS = 100;
/** Below etcd's own limit of 1.5 MiB. */
const MAX_REQUEST_BYTES = 1_400_000;

/**
 * The Context Store on etcd (R32): every operation is one read or one transaction of etcd, which are linearizable, so the
 * store is. A version is the revision that etcd gave to the write. Appends take a key each and never wait for one another.
 */
export class ContextStore {
  private readonly keyspace: Keyspace;
  private readonly claimKeys: ClaimKeys;
  private readonly reader: ClaimReader;
  private readonly leases: ContextLeases;
  private readonly meter: ContextMeter;
  private readonly bodies = new PatchBodies();
  private readonly clock: Clock;
  private readonly random: () => number;
  /** Lists being folded, by the prefix of their tails. */
  private readonly folding = new Map<string, Promise<void>>();

  constructor(private readonly options: ContextStoreOptions) {
    const { etcd, keyPrefix, tenant, ttlMs, claims, clock = systemClock, random = Math.random } = options;
    this.keyspace = new Keyspace(keyPrefix, tenant);
    this.claimKeys = new ClaimKeys(this.keyspace);
    this.reader = new ClaimReader(claims?.blobs ?? NO_BLOBS);
    this.clock = clock;
    this.random = random;
    this.leases = new ContextLeases(etcd, { ttlMs, monotonicMs: () => clock.monotonicMs() });
    this.meter = new ContextMeter(LARGE_VALUES * (claims?.maxValueBytes ?? 0));
  }

  /**
   * The context, or of it the fields that are named; one linearizable read, and one of each blob.
   *
   * @throws ReachError `not_found`; `engine_unavailable` when etcd or the store of blobs does not answer
   */
  async get(contextId: string, only?: readonly string[]): Promise<Context> {
    return this.reader.whole(contextId, () => this.read(contextId, only));
  }

  /** As {@link get}; where there are large values, the text of all of it, which nobody needs to have in memory. */
  async open(contextId: string, only?: readonly string[]): Promise<Context | LargeContext> {
    return this.reader.open(contextId, () => this.read(contextId, only));
  }

  /**
   * Writes a batch, all of it or nothing. An append without a version that loses a race is tried again by itself; what names a
   * version is not, for that has passed.
   *
   * @throws ReachError `context_conflict` with every conflicting field; `invalid_request`, `forbidden_key`, `payload_too_large`;
   *   `storage_full`; `engine_unavailable` when etcd gave no answer: then the write may have happened
   */
  async patch({ contextId, operations, by }: PatchRequest): Promise<ContextPatched> {
    const { claims } = this.options;
    const changes = changesOf(operations, claims?.maxValueBytes ?? MAX_CONTEXT_VALUE_BYTES);
    const planned = claims ? planClaims(changes, claims.aboveBytes) : new Set<string>();
    const keys = this.keysOf(contextId);
    return writing(contextId, async () => {
      const lease = await this.admit(keys, { changes, planned });
      const judging = { keys, show: this.reader.shower(contextId) };
      return this.commit(contextId, { changes, planned }, { keys, lease, by, judging });
    });
  }

  /** Writes the batch that is in the body of a request, as JSON. @throws ReachError as {@link patch}, and what strict JSON refuses */
  async patchJson({
    body,
    ...request
  }: Omit<PatchRequest, 'operations'> & { body: Uint8Array }): Promise<ContextPatched> {
    return this.patch({ ...request, operations: await this.bodies.read(body) });
  }

  /** Deletes the whole context. False when there was none. @throws ReachError as {@link patch} */
  async delete(contextId: string): Promise<boolean> {
    const keys = this.keysOf(contextId);
    return writing(contextId, async () => {
      // No transaction: etcd refuses all of these when it is out of space, and this makes some.
      const { deleted } = await this.options.etcd.kv.deleteRange(prefixRange(keys.root));
      this.meter.forget(keys.root);
      return Number(deleted) > 0;
    });
  }

  /** Waits for what tidies up, and closes what is the store's own. The etcd client stays. */
  async close(): Promise<void> {
    await Promise.all(this.folding.values());
    this.leases.close();
  }

  private keysOf(contextId: string): ContextKeys {
    return new ContextKeys(this.keyspace, contextId);
  }

  private async read(contextId: string, only?: readonly string[]): Promise<Map<string, StoredField>> {
    const keys = this.keysOf(contextId);
    const entries = await reading(contextId, () => (only ? this.readSome(keys, only) : this.readAll(keys)));
    if (entries.length === 0) throw unknownContext(contextId);
    const fields = decodeFields(entries, keys);
    return only === undefined ? fields : new Map([...fields].filter(([name]) => only.includes(name)));
  }

  private async readAll(keys: ContextKeys): Promise<IKeyValue[]> {
    return (await this.options.etcd.kv.range(prefixRange(keys.root))).kvs;
  }

  /** A transaction that only reads is one linearizable read. Its last request finds out whether the context exists. */
  private async readSome(keys: ContextKeys, only: readonly string[]): Promise<IKeyValue[]> {
    const requests = only.map((field) => {
      const success = [getOp(keys.head(field)), getPrefixOp(keys.tail(field))];
      return { request_txn: { compare: [], success, failure: [] } };
    });
    const any = { request_range: { ...prefixRange(keys.root), limit: 1 } };
    const { kv } = this.options.etcd;
    const answer = await kv.txn({ compare: [], success: [...requests, any], failure: [] }).catch((caught: unknown) => {
      if (isOutOfSpace(caught)) return null; // etcd before 3.6 then refuses every transaction
      throw caught;
    });
    if (answer === null) return this.readAll(keys);
    const { responses } = answer;
    return responses.flatMap(({ response_txn: txn, response_range: range }) => [
      ...(txn?.responses ?? []).flatMap((inner) => inner.response_range.kvs),
      ...(range?.kvs ?? []).filter(({ key }) => !only.includes(keys.parse(key.toString())?.field ?? '')),
    ]);
  }

  /** In one round trip at most, and in none once this process knows the context. Deletions take no space and no lease. */
  private async admit(keys: ContextKeys, batch: Batch): Promise<string> {
    if ([...batch.changes.values()].every(({ kind }) => kind === 'delete')) return '0';
    const measure = async () => decodeFields(await this.readAll(keys), keys);
    const [lease] = await Promise.all([this.leases.of(keys.root), this.meter.admit(keys.root, batch, measure)]);
    return lease;
  }

  private async commit(contextId: string, batch: Batch, commit: Commit): Promise<ContextPatched> {
    const { changes, planned } = batch;
    const { keys, lease, judging } = commit;
    const claims = this.claimsOf(contextId, planned);
    let states = needsLook(batch) ? await this.look(changes, commit) : new Map<string, ListState>();
    for (let n = 1; n <= MAX_TRIES; n += 1) {
      const write = { ...this.writeOf(commit, states), claims: await claims?.ready(changes) };
      const response = await this.send(transactionOf(changes, write), keys);
      if (response.succeeded) {
        this.meter.written(keys.root, batch);
        this.foldLongLists(changes, response, { keys, lease });
        return patchedBy(contextId, changes, { revision: response.header.revision, stamp: write.stamp });
      }
      states = await setbackOf(changes, response, judging);
      await claims?.setBack(changes, response);
      if (n > 1) await sleep(this.random() * Math.min(PAUSE_CAP_MS, PAUSE_MS * 2 ** n));
    }
    throw new ReachError(
      'engine_unavailable',
      'Too many writes to the same fields at once; nothing was written, try again',
      {
        retryAfterMs: 1_000,
      },
    );
  }

  private claimsOf(contextId: string, planned: ReadonlySet<string>): BatchClaims | undefined {
    const { claims } = this.options;
    if (!claims || planned.size === 0) return undefined;
    const monotonicMs = () => this.clock.monotonicMs();
    return new BatchClaims({ blobs: claims.blobs, keys: this.claimKeys, contextId, planned, monotonicMs });
  }

  /** A stale write must not leave blobs behind; and of what a version-bound append adds to, only the version is compared later. */
  private async look(changes: Changes, commit: Commit): Promise<Map<string, ListState>> {
    const response = await this.options.etcd.kv.txn(lookOf(changes, this.writeOf(commit, new Map())));
    return setbackOf(changes, response, commit.judging);
  }

  private writeOf({ keys, lease, by }: Commit, states: ReadonlyMap<string, ListState>): WriteContext {
    const stamp: Stamp = { at: this.clock.wall().toISOString(), by };
    return { keys, lease, stamp, unique: randomUUID(), listState: (field) => states.get(field) ?? 'list' };
  }

  private async send(transaction: Transaction, { root }: ContextKeys): Promise<ITxnResponse> {
    if (sizeOf(transaction) > MAX_REQUEST_BYTES) throw overRequestLimit();
    try {
      return await this.options.etcd.kv.txn(transaction);
    } catch (caught) {
      if (!isLeaseGone(caught)) throw caught;
      // E.g. etcd was restored from a backup. Nothing was written.
      this.leases.forget(root);
      this.meter.forget(root);
      await this.leases.of(root);
      return this.options.etcd.kv.txn(transaction);
    }
  }

  private foldLongLists(
    changes: Changes,
    response: ITxnResponse,
    { keys, lease }: { keys: ContextKeys; lease: string },
  ): void {
    const { etcd, logger, foldAt = FOLD_AT } = this.options;
    [...changes].forEach(([field, { kind }], place) => {
      const tail = keys.tail(field);
      if (kind !== 'append' || itemsAfter(response, place) < foldAt || this.folding.has(tail)) return;
      const work = foldList(etcd, { keys, field, lease, foldAt })
        .catch((err: unknown) => logger.debug({ err, field }, 'a list was left unfolded for now'))
        .finally(() => this.folding.delete(tail));
      this.folding.set(tail, work);
    });
  }
}

function needsLook({ changes, planned }: Batch): boolean {
  return planned.size > 0 || [...changes.values()].some(({ kind, base }) => kind === 'append' && base !== null);
}

function unknownContext(contextId: string): ReachError {
  const shown = JSON.stringify(contextId.slice(0, 128));
  return new ReachError(
    'not_found',
    `There is no context ${shown}: nothing was written to it, or it was deleted, or its time to live is over`,
  );
}
