import type { Etcd3, ICompare } from 'etcd3';
import { absent, heldUnder, putOp } from './etcd-ops';
import type { LeaseKeeper } from './lease-keeper';
import { grantLease, revokeQuietly } from './leases';
import type { Logger } from '../logger';

export interface LeaderKeyOptions {
  etcd: Etcd3;
  keeper: LeaseKeeper;
  key: string;
  /** Another process takes over this long after the leader died. */
  ttlSec: number;
  monotonicMs: () => number;
  logger: Logger;
}

/**
 * One leader among processes: whoever could create the key, as long as its lease lives and the key is its own. A
 * process that was paused may believe it leads until its next look at the clock: duties behind it may be begun twice,
 * and what they write goes with {@link fence}, so that only the leader's writes count.
 */
export class LeaderKey {
  private leaseId: string | null = null;
  private leaderUntilMs = Number.NEGATIVE_INFINITY;
  private nextAttemptMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: LeaderKeyOptions) {}

  /** Renews or tries to win the key when it is time to. Answers whether this process leads. Call it about once a second or more. */
  async check(): Promise<boolean> {
    const { monotonicMs, ttlSec, logger, key } = this.options;
    if (monotonicMs() >= this.nextAttemptMs) {
      this.nextAttemptMs = monotonicMs() + (ttlSec * 1_000) / 3;
      await this.attempt().catch((error: unknown) => logger.debug({ key, error }, 'leadership could not be renewed'));
    }
    return this.leads;
  }

  /** Leads as far as known without asking: not longer than the lease can have lasted. */
  get leads(): boolean {
    return this.options.monotonicMs() < this.leaderUntilMs;
  }

  /** Holds in etcd while this process leads: a condition for writes. Null when it does not lead as far as it knows. */
  get fence(): ICompare | null {
    return this.leads && this.leaseId !== null ? heldUnder(this.options.key, this.leaseId) : null;
  }

  /** Changes each time this process wins the key: what it knew of an earlier term may be out of date. Null when it does not lead. */
  get term(): string | null {
    return this.leads ? this.leaseId : null;
  }

  /** Call when a write under {@link fence} was refused: the key is somebody else's. The lease is left to expire. */
  depose(): void {
    this.leaseId = null;
    this.leaderUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Gives the key up, so that another process takes over at its next check. */
  resign(): void {
    if (this.leaseId !== null) revokeQuietly(this.options.etcd, this.leaseId, this.options.logger);
    this.depose();
    this.nextAttemptMs = Number.NEGATIVE_INFINITY;
  }

  private async attempt(): Promise<void> {
    const askedMs = this.options.monotonicMs();
    if (this.leaseId !== null && (await this.renew(this.leaseId, askedMs))) return;
    await this.campaign(askedMs);
  }

  /** A lease that lives is not enough: the key may have been deleted, and be somebody else's by now. */
  private async renew(leaseId: string, askedMs: number): Promise<boolean> {
    const { keeper } = this.options;
    const [remainingSec, holder] = await Promise.all([keeper.keepAlive(leaseId), this.holder()]);
    if (remainingSec > 0 && holder === leaseId) {
      this.leaderUntilMs = askedMs + remainingSec * 1_000;
      return true;
    }
    this.depose();
    return false;
  }

  /** The lease that the key is under; null when nobody leads. */
  private async holder(): Promise<string | null> {
    const { kvs } = await this.options.etcd.kv.range({ key: Buffer.from(this.options.key) });
    return kvs[0]?.lease ?? null;
  }

  private async campaign(askedMs: number): Promise<void> {
    const { etcd, key, ttlSec, logger } = this.options;
    if ((await this.holder()) !== null) return;
    const lease = await grantLease(etcd, ttlSec);
    const won = await etcd.kv.txn({
      compare: [absent(key)],
      success: [putOp(key, JSON.stringify({ v: 1 }), lease.id)],
      failure: [],
    });
    if (!won.succeeded) return revokeQuietly(etcd, lease.id, logger);
    this.leaseId = lease.id;
    this.leaderUntilMs = askedMs + lease.ttlSec * 1_000;
  }
}
