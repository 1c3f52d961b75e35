import type { Etcd3, ICompare, IRequestOp } from 'etcd3';
import { isLeaseGone } from './etcd-client';
import type { LeaseKeeper } from './lease-keeper';
import { grantLease, revokeQuietly } from './leases';
import type { Logger } from '../logger';

/** etcd takes at most 128 operations in a transaction. */
const MAX_OPS = 100;

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
   * Runs operations in as many transactions as it takes, each only while `fence` holds. Answers false when it did not
   * (any more): the rest was not written.
   *
   * @throws an etcd error; when the lease is gone, the next {@link ensure} grants another
   */
  async write(operations: readonly IRequestOp[], fence?: ICompare): Promise<boolean> {
    const compare = fence === undefined ? [] : [fence];
    try {
      for (let at = 0; at < operations.length; at += MAX_OPS) {
        const success = operations.slice(at, at + MAX_OPS);
        const { succeeded } = await this.options.etcd.kv.txn({ compare, success, failure: [] });
        if (!succeeded) return false;
      }
      return true;
    } catch (error) {
      if (isLeaseGone(error)) this.leaseId = null;
      throw error;
    }
  }

  /** Gives the lease up, and with it all keys. */
  release(): void {
    if (this.leaseId !== null) revokeQuietly(this.options.etcd, this.leaseId, this.options.logger);
    this.leaseId = null;
  }
}
