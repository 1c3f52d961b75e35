import type { Etcd3 } from 'etcd3';
import type { Logger } from '../logger';

/** A lease as etcd granted it. */
export interface GrantedLease {
  id: string;
  /** etcd raises times that are shorter than its election timeout allows. */
  ttlSec: number;
}

/** Grants a lease that nobody renews by itself. */
export async function grantLease(etcd: Etcd3, ttlSec: number): Promise<GrantedLease> {
  const granted = await etcd.leaseClient.leaseGrant({ TTL: ttlSec });
  return { id: granted.ID, ttlSec: Number(granted.TTL) };
}

/**
 * Revokes a lease that holds nothing any more; a tidiness, so failures are only logged: it expires anyway.
 * Never call it with a lease that may hold a key of somebody else.
 */
export function revokeQuietly(etcd: Etcd3, leaseId: string, logger: Logger): void {
  if (leaseId === '0') return;
  etcd.leaseClient
    .leaseRevoke({ ID: leaseId })
    .catch((error: unknown) => logger.debug({ leaseId, error }, 'a lease was left to expire'));
}

/**
 * One lease for many small records that should vanish some time after they were written. Granted when first
 * needed, replaced at half its time, never renewed.
 */
export class SharedLease {
  private current: { id: string; usableUntilMs: number } | null = null;

  constructor(
    private readonly etcd: Etcd3,
    private readonly ttlSec: number,
    private readonly monotonicMs: () => number,
  ) {}

  /** A lease with at least half of its time left. */
  async id(): Promise<string> {
    if (this.current === null || this.monotonicMs() >= this.current.usableUntilMs) {
      const { id, ttlSec } = await grantLease(this.etcd, this.ttlSec);
      this.current = { id, usableUntilMs: this.monotonicMs() + ttlSec * 500 };
    }
    return this.current.id;
  }

  /** Call when etcd says the lease is gone; the next {@link id} grants another. */
  forget(): void {
    this.current = null;
  }
}
