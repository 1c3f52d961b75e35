import type { Etcd3 } from 'etcd3';
import type { Clock } from '../clock';
import { isLeaseGone } from '../etcd/etcd-client';
import { absent, exists, putOp } from '../etcd/etcd-ops';
import { GONE_TTL_SEC } from '../instances/departures';
import type { Keyspace } from '../keys';
import { SharedLease } from '../etcd/leases';
import type { Logger } from '../logger';
import { encodeRecord } from '../records';
import type { Expiry } from './registry-state';

/** Views of all processes see an expiry at once; one of them shall write it down. */
const MAX_DELAY_MS = 1_000;

/**
 * Writes down expired instances, so that processes started later can still say who is gone and since when (R22).
 * Best effort: whatever fails is logged and forgotten.
 */
export class GoneWriter {
  private readonly lease: SharedLease;
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(private readonly options: { etcd: Etcd3; keys: Keyspace; logger: Logger; clock: Clock }) {
    this.lease = new SharedLease(options.etcd, GONE_TTL_SEC, () => options.clock.monotonicMs());
  }

  note(expiry: Expiry): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      this.write(expiry).catch((error: unknown) => {
        if (isLeaseGone(error)) this.lease.forget();
        this.options.logger.debug({ instance: expiry.instanceId, error }, 'an expired instance was not written down');
      });
    }, Math.random() * MAX_DELAY_MS);
    this.timers.add(timer);
  }

  stop(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }

  private async write({ name, instanceId, record }: Expiry): Promise<void> {
    const { etcd, keys } = this.options;
    const key = keys.record('gone', name, instanceId);
    await etcd.kv.txn({
      compare: [
        absent(key),
        absent(keys.record('instance', name, instanceId)),
        exists(keys.record('agent', name, record.version)),
      ],
      success: [putOp(key, encodeRecord(record), await this.lease.id())],
      failure: [],
    });
  }
}
