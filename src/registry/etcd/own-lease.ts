import type { Etcd3, ICompare, IRequestOp } from 'etcd3';
import { isLeaseGone } from './etcd-client';
import type { LeaseKeeper } from './lease-keeper';
import { grantLease, revokeQuietly } from './leases';
import type { Logger } from '../logger';

/** etcd takes at most 128 operations in a transaction. */
const MAX_OPS = 100;
/** etcd refuses requests of more than 1.5 MiB (`--max-request-bytes`); and none should keep it from answering others. */
const MAX_BYTES = 512 * 1_024;
/** What an operation takes on the wire besides key and value, at most. */
const OVERHEAD_BYTES = 64;

/**
 * The lease under which a process publishes keys of its own: renewed by whoever owns this as long as it lives, granted
 * anew when it was lost. The keys vanish with the process.
 */
export class OwnLease {
  private leaseId: string | null = null;
  private renewedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly options: {
      etcd: Etcd3;
      keeper: LeaseKeeper;
      logger: Logger;
      ttlSec: number;
      monotonicMs: () => number;
    },
  ) {}

  /**
   * Call it more often than a third of the time to live. Answers the lease, and whether it is another than last
   * time: then nothing of what was written exists any more.
   */
  async ensure(): Promise<{ id: string; isNew: boolean }> {
    const { etcd, keeper, ttlSec, monotonicMs } = this.options;
    if (this.leaseId !== null && monotonicMs() - this.renewedMs >= (ttlSec * 1_000) / 3) {
      if ((await keeper.keepAlive(this.leaseId)) > 0) this.renewedMs = monotonicMs();
      else this.leaseId = null;
    }
    if (this.leaseId !== null) return { id: this.leaseId, isNew: false };
    const grantedMs = monotonicMs();
    this.leaseId = (await grantLease(etcd, ttlSec)).id;
    this.renewedMs = grantedMs;
    return { id: this.leaseId, isNew: true };
  }

  /**
   * Runs operations in as many transactions as it takes, one after the other, each only while `fence` holds. Answers
   * false when it did not (any more): the rest was not written. An operation that is too large for etcd keeps none but
   * itself from being written.
   *
   * @param onUnwritten told what was not written, or of which that is not known, before this answers false or throws
   * @throws an etcd error; when the lease is gone, the next {@link ensure} grants another
   */
  async write(
    operations: readonly IRequestOp[],
    fence?: ICompare,
    onUnwritten: (unwritten: IRequestOp[]) => void = () => undefined,
  ): Promise<boolean> {
    const compare = fence === undefined ? [] : [fence];
    const parts = partsOf(operations);
    const refusals: unknown[] = [];
    for (const [at, success] of parts.entries()) {
      try {
        const { succeeded } = await this.options.etcd.kv.txn({ compare, success, failure: [] });
        if (succeeded) continue;
        onUnwritten(parts.slice(at).flat());
        return false;
      } catch (error) {
        const isRefused = isTooLarge(error);
        onUnwritten(isRefused ? success : parts.slice(at).flat());
        if (isLeaseGone(error)) this.leaseId = null;
        if (!isRefused) throw error;
        refusals.push(error);
      }
    }
    if (refusals.length > 0) throw refusals[0];
    return true;
  }

  /** Gives the lease up, and with it all keys. */
  release(): void {
    if (this.leaseId !== null) revokeQuietly(this.options.etcd, this.leaseId, this.options.logger);
    this.leaseId = null;
  }
}

/** Operations in their order, cut into parts that one transaction takes. What is too large by itself is a part of its own. */
function partsOf(operations: readonly IRequestOp[]): IRequestOp[][] {
  const parts: IRequestOp[][] = [];
  let leftBytes = 0;
  for (const operation of operations) {
    const bytes = bytesOf(operation);
    const part = parts.at(-1);
    if (part === undefined || part.length === MAX_OPS || bytes > leftBytes) {
      parts.push([operation]);
      leftBytes = MAX_BYTES - bytes;
    } else {
      part.push(operation);
      leftBytes -= bytes;
    }
  }
  return parts;
}

function bytesOf({ request_put: put, request_delete_range: deletion }: IRequestOp): number {
  const fields = [put?.key, put?.value, deletion?.key, deletion?.range_end];
  return fields.reduce((sum, field) => sum + (field?.length ?? 0), OVERHEAD_BYTES);
}

/** etcd refused the request for its size: its own limit, or that of gRPC, which is a little higher. */
function isTooLarge(caught: unknown): boolean {
  return caught instanceof Error && /request is too large|message larger than max/.test(caught.message);
}
