import type { Etcd3, IKeyValue, ITxnResponse } from 'etcd3';
import type { AgentStatus } from '../../protocol/shapes';
import { ReachError } from '../../protocol/reach-error';
import type { Clock } from '../clock';
import { agentNotFound, leaseExpired, staleEpoch, versionNotFound } from '../errors';
import { callEtcd, isLeaseGone } from '../etcd/etcd-client';
import { deleteOp, exists, getOp, getPrefixOp, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import {
  parseEpoch,
  parseHeartbeat,
  parseRegistration,
  type HeartbeatRequest,
  type RegistrationRequest,
} from './instance-input';
import { assertAgentName, assertInstanceId, type Keyspace } from '../keys';
import type { LeaseKeeper } from '../etcd/lease-keeper';
import { grantLease, revokeQuietly, SharedLease, type GrantedLease } from '../etcd/leases';
import type { Logger } from '../logger';
import { encodeRecord, readRecord, type BeatRecord, type GoneRecord, type InstanceRecord } from '../records';

/** How long an instance that is no more stays known for diagnoses, at most; at least half of it. */
export const GONE_TTL_SEC = 3_600;

/** A registration. Whoever holds its epoch, and nobody else, may renew or end it. */
export interface Registration {
  lease_id: string;
  /** Digits; greater than that of every earlier registration. */
  epoch: string;
  ttl_sec: number;
  warnings: string[];
}

export interface InstanceStoreOptions {
  etcd: Etcd3;
  keys: Keyspace;
  logger: Logger;
  clock: Clock;
  keeper: LeaseKeeper;
  minTtlSec: number;
}

/**
 * Instances in etcd. The registration and the last heartbeat are two keys under one lease; the registration is
 * written once, so its mod revision is the epoch, and every later write is a transaction that compares it.
 */
export class InstanceStore {
  private readonly goneLease: SharedLease;

  constructor(private readonly options: InstanceStoreOptions) {
    this.goneLease = new SharedLease(options.etcd, GONE_TTL_SEC, () => options.clock.monotonicMs());
  }

  /**
   * Registers an instance, or registers it anew: with a new lease and a greater epoch.
   *
   * @throws ReachError `agent_not_found`, `version_not_found`, `invalid_request`, `engine_unavailable`
   */
  async register(name: string, instanceId: string, request: RegistrationRequest): Promise<Registration> {
    assertAgentName(name);
    assertInstanceId(instanceId);
    const { record, warnings } = parseRegistration(request, this.options.minTtlSec, this.options.clock.wall());
    return callEtcd(`registering instance ${instanceId} of agent ${name}`, async () => {
      await this.assertVersionKnown(name, record.version);
      const lease = await grantLease(this.options.etcd, record.ttl_sec);
      const epoch = await this.writeRegistration({ name, instanceId }, { ...record, ttl_sec: lease.ttlSec }, lease);
      return { lease_id: lease.id, epoch, ttl_sec: lease.ttlSec, warnings };
    });
  }

  /**
   * Renews the lease and records status and load.
   *
   * @throws ReachError `lease_expired` (unknown or expired), `stale_epoch`, `agent_not_found`, `invalid_request`,
   * `engine_unavailable`
   */
  async heartbeat(name: string, instanceId: string, request: HeartbeatRequest): Promise<{ remaining_sec: number }> {
    assertAgentName(name);
    assertInstanceId(instanceId);
    const epoch = parseEpoch(request.epoch);
    const beat = parseHeartbeat(request);
    return callEtcd(`renewing instance ${instanceId} of agent ${name}`, async () => {
      const current = await this.readCurrent({ name, instanceId }, epoch);
      const record = this.nextBeat(beat, current);
      const [remainingSec] = await Promise.all([
        this.options.keeper.keepAlive(current.registration.lease),
        this.writeBeat({ name, instanceId }, record, current.registration),
      ]);
      if (remainingSec <= 0) throw leaseExpired(name, instanceId);
      return { remaining_sec: remainingSec };
    });
  }

  /**
   * Ends a registration. Answers false when there was none (any more): that is not an error, it is done.
   *
   * @throws ReachError `stale_epoch`, `agent_not_found`, `invalid_request`, `engine_unavailable`
   */
  async deregister(name: string, instanceId: string, epochInput: string | number): Promise<boolean> {
    assertAgentName(name);
    assertInstanceId(instanceId);
    const epoch = parseEpoch(epochInput);
    return callEtcd(`deregistering instance ${instanceId} of agent ${name}`, async () => {
      const current = await this.readCurrent({ name, instanceId }, epoch).catch((caught: unknown) => {
        if (caught instanceof ReachError && caught.code === 'lease_expired') return null;
        throw caught;
      });
      if (current === null) return false;
      await this.removeRegistration({ name, instanceId }, current);
      return true;
    });
  }

  private async assertVersionKnown(name: string, version: string): Promise<void> {
    const { etcd, keys } = this.options;
    const response = await etcd.kv.txn({
      compare: [],
      success: [getPrefixOp(keys.recordsOf('agent', name), { keys_only: true })],
      failure: [],
    });
    const versions = readOf(response, 0).map((entry) => keys.parse(entry.key.toString())?.item ?? '');
    if (versions.length === 0) throw agentNotFound(name);
    if (!versions.includes(version)) throw versionNotFound(name, version, versions);
  }

  /**
   * Both keys move to the new lease in one transaction, so the old lease holds nothing afterwards and revoking it,
   * however late, cannot remove the new registration.
   */
  private async writeRegistration(place: Place, record: InstanceRecord, lease: GrantedLease): Promise<string> {
    const { etcd, keys, logger } = this.options;
    const { name, instanceId } = place;
    const key = keys.record('instance', name, instanceId);
    const beat: BeatRecord = {
      status: 'ready',
      load: 0,
      in_flight: 0,
      since: record.registered_at,
      last_heartbeat: record.registered_at,
    };
    const put = putOp(key, encodeRecord(record), lease.id);
    const response = await etcd.kv.txn({
      compare: [exists(keys.record('agent', name, record.version))],
      success: [
        { request_put: { ...put.request_put, prev_kv: true } },
        putOp(keys.record('beat', name, instanceId), encodeRecord(beat), lease.id),
        deleteOp(keys.record('health', name, instanceId)),
        deleteOp(keys.record('gone', name, instanceId)),
      ],
      failure: [],
    });
    if (!response.succeeded) {
      revokeQuietly(etcd, lease.id, logger);
      throw agentNotFound(name);
    }
    const previous = response.responses[0]?.response_put?.prev_kv?.lease;
    if (previous !== undefined && previous !== lease.id) revokeQuietly(etcd, previous, logger);
    return response.header.revision;
  }

  /** The registration that `epoch` names, with its last heartbeat. */
  private async readCurrent({ name, instanceId }: Place, epoch: string): Promise<Current> {
    const { etcd, keys } = this.options;
    const success = [getOp(keys.record('instance', name, instanceId)), getOp(keys.record('beat', name, instanceId))];
    const response = await etcd.kv.txn({ compare: [], success, failure: [] });
    const [registration] = readOf(response, 0);
    const [beat] = readOf(response, 1);
    if (registration === undefined) throw leaseExpired(name, instanceId);
    if (registration.mod_revision !== epoch) throw staleEpoch(name, instanceId, epoch, registration.mod_revision);
    return {
      registration,
      instance: readRecord.instance(registration.value),
      beat: beat === undefined ? null : readRecord.beat(beat.value),
    };
  }

  private nextBeat(reported: Omit<BeatRecord, 'since' | 'last_heartbeat'>, { instance, beat }: Current): BeatRecord {
    const now = this.options.clock.wall().toISOString();
    const limit = instance?.max_concurrency ?? null;
    const same = beat !== null && effective(beat, limit) === effective(reported, limit);
    return { ...reported, since: same ? beat.since : now, last_heartbeat: now };
  }

  private async writeBeat({ name, instanceId }: Place, beat: BeatRecord, registration: IKeyValue): Promise<void> {
    const { etcd, keys } = this.options;
    const key = keys.record('instance', name, instanceId);
    const response = await etcd.kv
      .txn({
        compare: [unchanged(key, registration.mod_revision)],
        success: [putOp(keys.record('beat', name, instanceId), encodeRecord(beat), registration.lease)],
        failure: [getOp(key)],
      })
      .catch((caught: unknown) => {
        throw isLeaseGone(caught) ? leaseExpired(name, instanceId) : caught;
      });
    if (response.succeeded) return;
    const [now] = readOf(response, 0);
    throw now === undefined
      ? leaseExpired(name, instanceId)
      : staleEpoch(name, instanceId, registration.mod_revision, now.mod_revision);
  }

  private async removeRegistration(place: Place, current: Current): Promise<void> {
    const { etcd, logger } = this.options;
    const { registration } = current;
    const response = await this.replaceByTombstone(place, current).catch((caught: unknown) => {
      if (!isLeaseGone(caught)) throw caught;
      this.goneLease.forget();
      return this.replaceByTombstone(place, current);
    });
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

interface Place {
  name: string;
  instanceId: string;
}

interface Current {
  registration: IKeyValue;
  instance: InstanceRecord | null;
  beat: BeatRecord | null;
}

/** Full is busy, whatever was reported (R14); draining stays draining. */
function effective({ status, in_flight }: Pick<BeatRecord, 'status' | 'in_flight'>, limit: number | null): AgentStatus {
  return status === 'ready' && limit !== null && in_flight >= limit ? 'busy' : status;
}
