import type { Etcd3 } from 'etcd3';
import { absent, putOp } from './etcd-ops';
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
 * One leader among processes: whoever could create the key, as long as its lease lives. Two may believe it for a
 * moment when a process was paused, so only duties that may be done twice belong behind it.
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

  /** Gives the key up, so that another process takes over at its next check. */
  resign(): void {
    if (this.leaseId !== null) revokeQuietly(this.options.etcd, this.leaseId, this.options.logger);
    this.leaseId = null;
    this.leaderUntilMs = Number.NEGATIVE_INFINITY;
    this.nextAttemptMs = Number.NEGATIVE_INFINITY;
  }

  private async attempt(): Promise<void> {
    const { keeper, monotonicMs } = this.options;
    const askedMs = monotonicMs();
    if (this.leaseId !== null) {
      const remainingSec = await keeper.keepAlive(this.leaseId);
      this.leaderUntilMs = askedMs + remainingSec * 1_000;
      if (remainingSec > 0) return;
      this.leaseId = null;
    }
    await this.campaign(askedMs);
  }

  private async campaign(askedMs: number): Promise<void> {
    const { etcd, key, ttlSec, logger } = this.options;
    const held = await etcd.kv.range({ key: Buffer.from(key), count_only: true });
    if (held.count !== '0') return;
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
