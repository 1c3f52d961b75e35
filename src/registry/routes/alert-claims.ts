import { createHash } from 'node:crypto';
import { callEtcd } from '../etcd/etcd-client';
import { absent, deleteOp, putOp } from '../etcd/etcd-ops';
import { grantLease } from '../etcd/leases';
import { Keyspace } from '../keys';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { encodeRecord } from '../records';

/** Longer keys are hashed: what an alert is about may hold the name of anything. */
const MAX_KEY_CHARS = 256;

/** Which alerts were raised lately: one key each, under a lease of its own that nobody renews. */
export class AlertClaims {
  private readonly keys: Keyspace;

  constructor(private readonly options: Pick<RegistryOptions, 'etcd' | 'keyPrefix' | 'tenant'>) {
    this.keys = new Keyspace(options.keyPrefix ?? DEFAULT_KEY_PREFIX, options.tenant);
  }

  /** Claims a key until its window is over; false when somebody has. @throws ReachError `engine_unavailable` */
  claim(kind: string, key: string, windowMs: number): Promise<boolean> {
    const { etcd } = this.options;
    const { place, name } = this.placeOf(kind, key);
    return callEtcd(`claiming the alert ${kind}`, async () => {
      const found = await etcd.kv.range({ key: Buffer.from(place), count_only: true });
      if (Number(found.count) > 0) return false;
      const lease = await grantLease(etcd, Math.max(1, Math.ceil(windowMs / 1_000)));
      const won = await etcd.kv.txn({
        compare: [absent(place)],
        success: [putOp(place, encodeRecord({ kind, key: name }), lease.id)],
        failure: [],
      });
      // The lease of one that lost holds nothing, and ends by itself.
      return won.succeeded;
    });
  }

  /** Gives a key up before its window is over; nothing happens when nobody has it. @throws ReachError `engine_unavailable` */
  async release(kind: string, key: string): Promise<void> {
    const { place } = this.placeOf(kind, key);
    // Its lease holds nothing then, and ends by itself.
    await callEtcd(`giving up the alert ${kind}`, () =>
      this.options.etcd.kv.txn({ compare: [], success: [deleteOp(place)], failure: [] }),
    );
  }

  private placeOf(kind: string, key: string): { place: string; name: string } {
    const name = key.length <= MAX_KEY_CHARS ? key : createHash('sha256').update(key).digest('hex');
    return { place: this.keys.under(this.keys.alerts, kind, name), name };
  }
}
