import type { Etcd3, ITxnResponse } from 'etcd3';
import type { Clock } from '../clock';
import { staleEpoch } from '../errors';
import { isLeaseGone, isOutOfSpace } from '../etcd/etcd-client';
import { deleteOp, getOp, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import { revokeQuietly, SharedLease } from '../etcd/leases';
import type { Keyspace } from '../keys';
import type { Logger } from '../logger';
import { encodeRecord, type GoneRecord } from '../records';
import type { Current, Place } from './current-registration';

/** How long an instance that is no more stays known for diagnoses, at most; at least half of it. */
export const GONE_TTL_SEC = 3_600;

/** Ends registrations and leaves a note that it was on purpose. */
export class Departures {
  private readonly goneLease: SharedLease;

  constructor(private readonly options: { etcd: Etcd3; keys: Keyspace; logger: Logger; clock: Clock }) {
    this.goneLease = new SharedLease(options.etcd, GONE_TTL_SEC, () => options.clock.monotonicMs());
  }

  /** Removes the registration that was read. @throws ReachError `stale_epoch`; an etcd error */
  async remove(place: Place, current: Current): Promise<void> {
    const { etcd, logger } = this.options;
    const { registration } = current;
    const response = await this.replaceByTombstone(place, current).catch(async (caught: unknown) => {
      if (isOutOfSpace(caught)) return null;
      if (!isLeaseGone(caught)) throw caught;
      this.goneLease.forget();
      return this.replaceByTombstone(place, current);
    });
    // Leaving needs no space, only the note that it was on purpose does. A lease holds nothing but its own registration.
    if (response === null) return void (await etcd.leaseClient.leaseRevoke({ ID: registration.lease }));
    const [now] = response.succeeded ? [] : readOf(response, 0);
    if (now !== undefined) throw staleEpoch(place.name, place.instanceId, registration.mod_revision, now.mod_revision);
    if (response.succeeded) revokeQuietly(etcd, registration.lease, logger);
  }

  private async replaceByTombstone(
    { name, instanceId }: Place,
    { registration, instance, beat }: Current,
  ): Promise<ITxnResponse> {
    const { etcd, keys, clock } = this.options;
    const gone: GoneRecord = {
      version: instance?.version ?? '',
      host: instance?.host ?? null,
      cause: 'deregistered',
      last_status: beat?.status ?? 'ready',
      at: clock.wall().toISOString(),
    };
    const key = keys.record('instance', name, instanceId);
    return etcd.kv.txn({
      compare: [unchanged(key, registration.mod_revision)],
      success: [
        deleteOp(key),
        deleteOp(keys.record('beat', name, instanceId)),
        deleteOp(keys.record('health', name, instanceId)),
        putOp(keys.record('gone', name, instanceId), encodeRecord(gone), await this.goneLease.id()),
      ],
      failure: [getOp(key)],
    });
  }
}
