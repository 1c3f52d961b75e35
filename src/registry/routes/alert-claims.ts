import { createHash } from 'node:crypto';
import { callEtcd } from '../etcd/etcd-client';
import { absent, putOp } from '../etcd/etcd-ops';
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
    const name = key.length <= MAX_KEY_CHARS ? key : createHash('sha256').update(key).digest('hex');
    const place = this.keys.under(this.keys.alerts, kind, name);
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
}
