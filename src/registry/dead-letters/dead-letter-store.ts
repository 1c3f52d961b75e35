import type { ITxnResponse, IKeyValue, IRequestOp } from 'etcd3';
import { systemClock, type Clock } from '../clock';
import { callEtcd, isLeaseGone } from '../etcd/etcd-client';
import { absent, deleteOp, getOp, getPrefixOp, prefixRange, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import { grantLease, revokeQuietly, SharedLease } from '../etcd/leases';
import { Keyspace } from '../keys';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import {
  decodeDiscard,
  decodeRedrive,
  type DeadLetterRecords,
  type DiscardRecord,
  type RedriveRecord,
} from './records';

/** A redrive that was begun and not finished may be taken over after this long. */
export const PENDING_TTL_SEC = 30;
/** etcd takes at most 128 operations in a transaction; each reach needs two. */
const REACHES_PER_READ = 50;

/** One failed run of a reach. */
export interface FailedRun {
  reachId: string;
  runId: string;
}

/** The right to redrive one failed run, for {@link PENDING_TTL_SEC}. */
export interface RedriveClaim extends FailedRun {
  by: string;
  at: string;
  /** Monotonic ms of when it was won. */
  wonMs: number;
  leaseId: string;
  revision: string;
}

/** `claim` is there when it was won; else what stands in the way. */
export type ClaimOutcome =
  { claim: RedriveClaim } | { claim: null; redrive: RedriveRecord | null; discard: DiscardRecord | null };

/**
 * Redrives and discards of dead letters in etcd (R31): a marker per failed run, created if absent, is what makes a redrive
 * happen once however often and wherever it is asked for. Records live at least as long as the runs they are about.
 * Every method fails with `engine_unavailable` within about 3 s when etcd does not answer.
 */
export class DeadLetterStore {
  private readonly keys: Keyspace;
  private readonly clock: Clock;
  private kept: { ttlSec: number; lease: SharedLease } | null = null;

  /** @param options `retentionSec`: how long the namespace keeps finished runs */
  constructor(private readonly options: RegistryOptions & { retentionSec: () => Promise<number> }) {
    this.keys = new Keyspace(options.keyPrefix ?? DEFAULT_KEY_PREFIX, options.tenant);
    this.clock = options.clock ?? systemClock;
  }

  /** What is on record of these reaches; every id is in the answer. */
  async of(reachIds: readonly string[]): Promise<Map<string, DeadLetterRecords>> {
    const found = new Map<string, DeadLetterRecords>();
    for (let at = 0; at < reachIds.length; at += REACHES_PER_READ) {
      const ids = reachIds.slice(at, at + REACHES_PER_READ);
      const reads = ids.flatMap((id) => [
        getPrefixOp(this.prefix('redrive', id)),
        getPrefixOp(this.prefix('discard', id)),
      ]);
      const response = await this.txn('reading dead letters', { success: reads });
      ids.forEach((id, index) => found.set(id, this.recordsIn(response, index * 2)));
    }
    return found;
  }

  /** Takes the right to redrive, unless somebody has it, has used it, or the run was discarded. */
  claim({ reachId, runId }: FailedRun, by: string): Promise<ClaimOutcome> {
    const [redriveKey, discardKey] = [this.key('redrive', reachId, runId), this.key('discard', reachId, runId)];
    return callEtcd(`claiming the redrive of ${reachId}`, async () => {
      const { etcd, logger } = this.options;
      const wonMs = this.clock.monotonicMs();
      const lease = await grantLease(etcd, PENDING_TTL_SEC);
      const at = this.clock.wall().toISOString();
      const pending: RedriveRecord = { v: 1, state: 'pending', by, at };
      const response = await etcd.kv.txn({
        compare: [absent(redriveKey), absent(discardKey)],
        success: [putOp(redriveKey, JSON.stringify(pending), lease.id)],
        failure: [getOp(redriveKey), getOp(discardKey)],
      });
      if (response.succeeded)
        return { claim: { reachId, runId, by, at, wonMs, leaseId: lease.id, revision: response.header.revision } };
      revokeQuietly(etcd, lease.id, logger);
      const [redrive] = readOf(response, 0);
      const [discard] = readOf(response, 1);
      return {
        claim: null,
        redrive: redrive ? decodeRedrive(redriveKey, redrive.value) : null,
        discard: discard ? decodeDiscard(discardKey, discard.value) : null,
      };
    });
  }

  /** Writes down which run came of a redrive; whoever else knew it would write the same. */
  async complete({ reachId, runId }: FailedRun, done: { newRunId: string; by: string; at: string }): Promise<void> {
    const record: RedriveRecord = { v: 1, state: 'done', by: done.by, at: done.at, run_id: done.newRunId };
    await this.keep(`noting the redrive of ${reachId}`, (lease) => ({
      success: [putOp(this.key('redrive', reachId, runId), JSON.stringify(record), lease)],
    }));
  }

  /** Gives a claim back when nothing was sent, so that the next one need not wait for its lease. */
  async release({ reachId, runId, revision, leaseId }: RedriveClaim): Promise<void> {
    const key = this.key('redrive', reachId, runId);
    await this.txn('giving back a redrive', { compare: [unchanged(key, revision)], success: [deleteOp(key)] });
    revokeQuietly(this.options.etcd, leaseId, this.options.logger);
  }

  /** Notes that a failed run is not wanted any more; answers the record that stands, or the redrive that was first. */
  async discard(
    { reachId, runId }: FailedRun,
    { reason, by }: { reason: string; by: string },
  ): Promise<{ record: DiscardRecord; created: boolean } | { redrive: RedriveRecord }> {
    const [redriveKey, discardKey] = [this.key('redrive', reachId, runId), this.key('discard', reachId, runId)];
    const record: DiscardRecord = { v: 1, reason, by, at: this.clock.wall().toISOString() };
    const response = await this.keep(`discarding ${reachId}`, (lease) => ({
      compare: [absent(redriveKey), absent(discardKey)],
      success: [putOp(discardKey, JSON.stringify(record), lease)],
      failure: [getOp(discardKey), getOp(redriveKey)],
    }));
    if (response.succeeded) return { record, created: true };
    const [standing] = readOf(response, 0);
    if (standing) return { record: decodeDiscard(discardKey, standing.value), created: false };
    const [redrive] = readOf(response, 1);
    // Unanswered compare and no reason for it: the key went between; cannot happen within one transaction.
    return { redrive: decodeRedrive(redriveKey, redrive?.value ?? Buffer.alloc(0)) };
  }

  /** Run ids of everything discarded. */
  async discardedRuns(): Promise<Set<string>> {
    const prefix = this.keys.under(this.keys.deadLetters, 'discard') + '/';
    const answer = await callEtcd('reading the discarded dead letters', () =>
      this.options.etcd.kv.range({ ...prefixRange(prefix), keys_only: true }),
    );
    return new Set(answer.kvs.flatMap(({ key }) => this.keys.partsUnder(prefix, key.toString(), 2)?.[1] ?? []));
  }

  private recordsIn(response: ITxnResponse, index: number): DeadLetterRecords {
    const byRun = <T>(pairs: IKeyValue[], decode: (key: string, value: Buffer) => T) =>
      new Map(pairs.map(({ key, value }) => [runOf(key.toString()), decode(key.toString(), value)]));
    return {
      redrives: byRun(readOf(response, index), decodeRedrive),
      discards: byRun(readOf(response, index + 1), decodeDiscard),
    };
  }

  /** A transaction under a lease that outlives the retention. A lease that etcd has lost is replaced once. */
  private keep(what: string, transaction: (lease: string) => Transaction): Promise<ITxnResponse> {
    return callEtcd(what, async () => {
      const lease = await this.keptLease();
      try {
        return await this.send(transaction(await lease.id()));
      } catch (error) {
        if (!isLeaseGone(error)) throw error;
        lease.forget();
        return this.send(transaction(await lease.id()));
      }
    });
  }

  /** Of twice the retention as it is now: after it was raised, a record under the earlier lease would end before its run. */
  private async keptLease(): Promise<SharedLease> {
    const ttlSec = 2 * (await this.options.retentionSec());
    if (this.kept?.ttlSec !== ttlSec) {
      const lease = new SharedLease(this.options.etcd, ttlSec, () => this.clock.monotonicMs());
      this.kept = { ttlSec, lease };
    }
    return this.kept.lease;
  }

  private txn(what: string, transaction: Transaction): Promise<ITxnResponse> {
    return callEtcd(what, () => this.send(transaction));
  }

  private send({ compare = [], success, failure = [] }: Transaction): Promise<ITxnResponse> {
    return this.options.etcd.kv.txn({ compare, success, failure });
  }

  private key(kind: 'redrive' | 'discard', reachId: string, runId: string): string {
    return this.keys.under(this.keys.deadLetters, kind, reachId, runId);
  }

  private prefix(kind: 'redrive' | 'discard', reachId: string): string {
    return `${this.keys.under(this.keys.deadLetters, kind, reachId)}/`;
  }
}

interface Transaction {
  compare?: Parameters<RegistryOptions['etcd']['kv']['txn']>[0]['compare'];
  success: IRequestOp[];
  failure?: IRequestOp[];
}

/** The last part of a key; run ids have nothing in them that is encoded. */
function runOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
