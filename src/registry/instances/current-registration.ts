import type { Etcd3, IKeyValue } from 'etcd3';
import { leaseExpired, staleEpoch } from '../errors';
import type { Keyspace } from '../keys';
import { readRecord, type BeatRecord, type InstanceRecord } from '../records';

/** Where an instance is registered. */
export interface Place {
  name: string;
  instanceId: string;
}

/** A registration with its last heartbeat; what cannot be read is null. */
export interface Current {
  registration: IKeyValue;
  instance: InstanceRecord | null;
  beat: BeatRecord | null;
}

/**
 * The registration that `epoch` names, with its last heartbeat. Read one by one: etcd out of space refuses even
 * transactions that only read. Every write compares the epoch, so nothing depends on both being of one moment.
 *
 * @throws ReachError `lease_expired` (unknown or expired), `stale_epoch`; an etcd error
 */
export async function readCurrent(
  { etcd, keys }: { etcd: Etcd3; keys: Keyspace },
  { name, instanceId }: Place,
  epoch: string,
): Promise<Current> {
  const read = (kind: 'instance' | 'beat') => etcd.kv.range({ key: Buffer.from(keys.record(kind, name, instanceId)) });
  const [{ kvs: registrations }, { kvs: beats }] = await Promise.all([read('instance'), read('beat')]);
  const [registration] = registrations;
  const [beat] = beats;
  if (registration === undefined) throw leaseExpired(name, instanceId);
  if (registration.mod_revision !== epoch) throw staleEpoch(name, instanceId, epoch, registration.mod_revision);
  return {
    registration,
    instance: readRecord.instance(registration.value),
    beat: beat === undefined ? null : readRecord.beat(beat.value),
  };
}
