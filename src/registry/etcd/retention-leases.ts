import type { Etcd3 } from 'etcd3';
import { grantLease } from './leases';

const HOUR_MS = 3_600_000;

interface Shared {
  id: Promise<string>;
  usableUntilMs: number;
}

/**
 * Leases by retention time, each shared by all that is written within an hour: one lease per record would be as many
 * leases as calls, and one for a whole day would drop a day's records in one stroke. A record lives for its time, and up
 * to two hours longer.
 */
export class RetentionLeases {
  readonly #byHours = new Map<number, Shared>();

  constructor(
    private readonly etcd: Etcd3,
    private readonly monotonicMs: () => number,
  ) {}

  /** A lease with at least `ttlMs` left. @throws an etcd error */
  id(ttlMs: number): Promise<string> {
    const hours = Math.ceil(ttlMs / HOUR_MS);
    const current = this.#byHours.get(hours);
    if (current !== undefined && this.monotonicMs() < current.usableUntilMs) return current.id;
    return this.#grant(hours).id;
  }

  /** Call it when etcd says that a lease is gone; the next {@link id} grants others. */
  forget(): void {
    this.#byHours.clear();
  }

  /** Writers of one moment share one grant; a grant that failed is not kept. */
  #grant(hours: number): Shared {
    const usableUntilMs = this.monotonicMs() + HOUR_MS;
    const ttlSec = ((hours + 1) * HOUR_MS) / 1_000;
    const shared = { id: grantLease(this.etcd, ttlSec).then(({ id }) => id), usableUntilMs };
    this.#byHours.set(hours, shared);
    shared.id.catch(() => {
      if (this.#byHours.get(hours) === shared) this.#byHours.delete(hours);
    });
    return shared;
  }
}
