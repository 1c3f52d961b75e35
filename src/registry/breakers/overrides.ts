import type { Etcd3 } from 'etcd3';
import type { BreakerKey, BreakerOverride } from '../../protocol/reliability';
import type { Clock } from '../clock';
import { callEtcd } from '../etcd/etcd-client';
import { deleteOp, putOp } from '../etcd/etcd-ops';
import { grantLease } from '../etcd/leases';
import type { Keyspace } from '../keys';
import type { MirrorEntry } from '../mirror/prefix-watch';
import { AbilityMap } from './ability-map';
import { breakerKey, decodeOverride, encodeOverride } from './breaker-codec';

/** An operator's word as it is given. */
export interface OverrideRequest {
  state: BreakerOverride['state'];
  reason: string;
  by: string;
  /** Null: until it is taken back. */
  expiresInMs: number | null;
}

/**
 * What operators said about breakers. One that expires lies under a lease of its own that nobody renews, so it ends by
 * etcd's clock alone; the time of expiry that people see decides nothing.
 */
export class Overrides {
  private readonly known = new AbilityMap<BreakerOverride>();

  constructor(private readonly options: { etcd: Etcd3; keys: Keyspace; clock: Clock }) {}

  get(key: BreakerKey): BreakerOverride | undefined {
    return this.known.get(key);
  }

  entries(): Generator<[BreakerKey, BreakerOverride]> {
    return this.known.entries();
  }

  /** Takes over what the mirror tells. */
  apply(key: BreakerKey, entry: MirrorEntry | null): void {
    const override = entry && decodeOverride(entry.value);
    if (override === null) this.known.delete(key);
    else this.known.set(key, override);
  }

  /** Answers the revision from which on it holds. @throws ReachError `engine_unavailable` */
  async set(key: BreakerKey, request: OverrideRequest): Promise<number> {
    const { etcd, keys, clock } = this.options;
    const { state, reason, by, expiresInMs } = request;
    const setAt = clock.wall();
    const expiresAt = expiresInMs === null ? null : new Date(setAt.getTime() + expiresInMs).toISOString();
    const override: BreakerOverride = { state, reason, by, set_at: setAt.toISOString(), expires_at: expiresAt };
    return callEtcd(`setting the breaker of ${key.ability} at ${key.agentName}`, async () => {
      const lease =
        expiresInMs === null ? undefined : await grantLease(etcd, Math.max(1, Math.ceil(expiresInMs / 1_000)));
      const put = putOp(breakerKey(keys, 'override', key), encodeOverride(override), lease?.id);
      const written = await etcd.kv.txn({ compare: [], success: [put], failure: [] });
      return Number(written.header.revision);
    });
  }

  /** Answers the revision from which on it is gone. @throws ReachError `engine_unavailable` */
  async clear(key: BreakerKey): Promise<number> {
    const { etcd, keys } = this.options;
    const operation = deleteOp(breakerKey(keys, 'override', key));
    return callEtcd(`taking back the override of ${key.ability} at ${key.agentName}`, async () => {
      const written = await etcd.kv.txn({ compare: [], success: [operation], failure: [] });
      return Number(written.header.revision);
    });
  }
}
