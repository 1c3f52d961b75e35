/** Removes blobs of large values that no field refers to any more. */
import type { Etcd3, IKeyValue } from 'etcd3';
import type { ObjectInfo, ObjectStore } from '../payloads';
import { parsePayloadRef } from '../protocol/payload-ref';
import { absent, deleteOp, getOp, getPrefixOp, prefixRange, putOp, unchanged } from '../registry/etcd/etcd-ops';
import type { Keyspace } from '../registry/keys';
import { ClaimKeys, type ClaimPlace } from './claim-keys';
import { ContextKeys } from './context-keys';
import { claimsOf, decodeFields } from './stored';

/** A blob that is being removed: who wants to refer to it waits. */
export const COLLECTING = 'collecting';
/** A blob that was removed: who wants to refer to it puts it again. */
const GONE = 'gone';
/** A collector that dies leaves its mark for so long, s. */
const COLLECTING_SEC = 120;
/** What was removed is remembered for so long, s: longer than a writer takes from its blob to its transaction. */
export const CONDEMNED_FOR_SEC = 600;
/** References that are looked at together. */
const PAGE = 32;

/** What a sweep works with. */
export interface ClaimSweepOptions {
  etcd: Etcd3;
  keyspace: Keyspace;
  objects: Pick<ObjectStore, 'list' | 'touch' | 'delete'>;
  /** Where the blobs are, such as `default/contexts`. */
  area: string;
  /** A blob is kept for so long after it was last seen in use, and up to twice that, ms. At least an hour: see {@link ClaimSweep}. */
  graceMs: number;
  /** Wall clock, Unix ms. */
  nowMs: () => number;
}

/** What a sweep found. */
export interface Swept {
  blobs: number;
  bytes: number;
  removed: number;
}

/**
 * The mark of a blob's last use is that of its object, and renewed here once in `graceMs` for as long as a field refers to it. What
 * has no such field and an older mark than twice that goes; so a blob outlives its last reference by `graceMs` at least, for those
 * who read it at that moment, and for an etcd that is restored from a backup of that age.
 *
 * Whoever writes a reference has put or marked the blob before; a mark is renewed when it is an hour old, so what is being written
 * at this moment is no older than that. Where the store cannot remove on a condition of age (S3), the mark in etcd is what counts:
 * see `BatchClaims`. Without an answer from etcd nothing is removed. Safe to run in many processes at once.
 */
export class ClaimSweep {
  private readonly keys: ClaimKeys;

  constructor(private readonly options: ClaimSweepOptions) {
    this.keys = new ClaimKeys(options.keyspace);
  }

  /** One pass. @throws ReachError of the store, an etcd error */
  async run(signal?: AbortSignal): Promise<Swept> {
    const { objects, area, graceMs, nowMs } = this.options;
    const swept: Swept = { blobs: 0, bytes: 0, removed: 0 };
    for await (const info of objects.list(`${area}/`)) {
      if (signal?.aborted) break;
      const isOld = info.usedMs < nowMs() - graceMs;
      if (isOld && (await this.judge(info))) swept.removed += 1;
      else {
        swept.blobs += 1;
        swept.bytes += info.bytes;
      }
    }
    return swept;
  }

  /** True when the blob was removed. */
  private async judge({ key, usedMs }: ObjectInfo): Promise<boolean> {
    const { objects, graceMs, nowMs } = this.options;
    const digest = key.slice(key.lastIndexOf('/') + 1);
    if (await this.isReferred(digest)) {
      await objects.touch(key, nowMs());
      return false;
    }
    const unusedSinceMs = nowMs() - 2 * graceMs;
    return usedMs < unusedSinceMs && this.remove(key, digest, unusedSinceMs);
  }

  /** Whether a field refers to the blob. Takes away references whose field holds something else by now. */
  private async isReferred(digest: string): Promise<boolean> {
    const range = prefixRange(this.keys.references(digest));
    for (;;) {
      const { kvs } = await this.options.etcd.kv.range({ ...range, limit: PAGE });
      if (kvs.length === 0) return false;
      for (const entry of kvs) {
        const place = this.keys.placeOf(entry.key.toString());
        if (place !== null && (await this.holds(place, digest))) return true;
        await this.drop(entry);
      }
    }
  }

  private async holds({ contextId, field }: ClaimPlace, digest: string): Promise<boolean> {
    const keys = new ContextKeys(this.options.keyspace, contextId);
    const success = [getOp(keys.head(field)), getPrefixOp(keys.tail(field))];
    const { responses } = await this.options.etcd.kv.txn({ compare: [], success, failure: [] });
    const entries = responses.flatMap(({ response_range: found }) => found.kvs);
    const stored = decodeFields(entries, keys).get(field);
    return stored !== undefined && claimsOf(stored.content).some((ref) => parsePayloadRef(ref)?.digest === digest);
  }

  /** Unless it was written again meanwhile. */
  private async drop({ key, mod_revision: revision }: IKeyValue): Promise<void> {
    const name = key.toString();
    await this.options.etcd.kv.txn({ compare: [unchanged(name, revision)], success: [deleteOp(name)], failure: [] });
  }

  /** Condemns the blob, which holds only while nothing refers to it, then removes it, then says so. */
  private async remove(key: string, digest: string, unusedSinceMs: number): Promise<boolean> {
    const { etcd, objects } = this.options;
    const mark = this.keys.condemnedBlob(digest);
    const lease = await this.lease(COLLECTING_SEC);
    const unreferred = { ...absent(this.keys.references(digest)), ...prefixRange(this.keys.references(digest)) };
    const condemned = await etcd.kv.txn({
      compare: [unreferred, absent(mark)],
      success: [putOp(mark, COLLECTING, lease)],
      failure: [],
    });
    if (!condemned.succeeded) return false;
    const removed = await objects.delete(key, { unusedSinceMs });
    const gone = removed ? putOp(mark, GONE, await this.lease(CONDEMNED_FOR_SEC)) : deleteOp(mark);
    await etcd.kv.txn({ compare: [], success: [gone], failure: [] });
    return removed;
  }

  private async lease(seconds: number): Promise<string> {
    return (await this.options.etcd.leaseClient.leaseGrant({ TTL: seconds })).ID;
  }
}
