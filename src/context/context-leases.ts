import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Etcd3 } from 'etcd3';
import { LeaseKeeper } from '../registry/etcd/lease-keeper';
import { RecentMap } from './recent-map';

/** A lease that has just run out still holds its id until etcd has cleared it away, twice a second. */
const CLEARING_MS = 200;
const MAX_TRIES = 15;

/**
 * One lease for each context, so that everything of it vanishes at once when it has not been written to for the time to
 * live (R32). Its id follows from the context's place in etcd: every gateway finds it without asking. It is granted
 * with a tenth more than the time to live and renewed by writes, at most once in that tenth; so a context lives for its time
 * after the last write, and up to a tenth longer, and a write costs no request of its own for it.
 *
 * Ids are 63 bits of a hash. Should two contexts of a million share one (a chance of 5 in 10⁸), they live as long as the
 * one written last.
 */
export class ContextLeases {
  private readonly keeper: LeaseKeeper;
  private readonly renewedMs = new RecentMap<string, number>();
  private readonly renewEveryMs: number;
  private readonly ttlSec: number;

  constructor(
    private readonly etcd: Etcd3,
    private readonly options: { ttlMs: number; monotonicMs: () => number },
  ) {
    this.keeper = new LeaseKeeper(etcd);
    this.renewEveryMs = options.ttlMs / 10;
    this.ttlSec = Math.ceil((options.ttlMs + this.renewEveryMs) / 1_000);
  }

  /** The lease to write under, alive. @throws an etcd error */
  async of(root: string): Promise<string> {
    const id = leaseIdOf(root);
    const renewedMs = this.renewedMs.get(id);
    if (renewedMs === undefined) await this.ensure(id);
    else if (this.options.monotonicMs() - renewedMs >= this.renewEveryMs) this.renewMeanwhile(id);
    return id;
  }

  /** Call it when etcd says that the lease is gone: the next {@link of} grants it again. */
  forget(root: string): void {
    this.renewedMs.delete(leaseIdOf(root));
  }

  close(): void {
    this.keeper.close();
  }

  /** Grants and renews in one round trip, since nobody knows which of the two it takes. */
  private async ensure(id: string): Promise<void> {
    for (let n = 1; ; n += 1) {
      const startedMs = this.options.monotonicMs();
      const [granted, remainingSec] = await Promise.all([this.grant(id), this.keeper.keepAlive(id)]);
      if (granted || remainingSec > 0) return this.renewedMs.set(id, startedMs);
      if (n === MAX_TRIES) throw new Error(`the lease ${id} neither exists nor can it be granted`);
      await sleep(CLEARING_MS);
    }
  }

  /** There is time left, so the write need not wait; when it fails, the next write tries again. */
  private renewMeanwhile(id: string): void {
    const before = this.renewedMs.get(id)!;
    const startedMs = this.options.monotonicMs();
    this.renewedMs.set(id, startedMs);
    this.keeper.keepAlive(id).then(
      (remainingSec) => remainingSec > 0 || this.renewedMs.delete(id),
      () => this.renewedMs.set(id, before),
    );
  }

  /** False: it exists. */
  private async grant(id: string): Promise<boolean> {
    try {
      await this.etcd.leaseClient.leaseGrant({ ID: id, TTL: this.ttlSec });
      return true;
    } catch (caught) {
      if (caught instanceof Error && caught.message.includes('lease already exists')) return false;
      throw caught;
    }
  }
}

function leaseIdOf(root: string): string {
  const digest = createHash('sha256').update(root).digest();
  return String((digest.readBigUInt64BE() & 0x7fff_ffff_ffff_ffffn) | 1n);
}
