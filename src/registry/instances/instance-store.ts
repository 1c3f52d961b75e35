import type { Etcd3, IKeyValue, ITxnRequest, ITxnResponse } from 'etcd3';
import type { AgentStatus } from '../../protocol/shapes';
import { ReachError } from '../../protocol/reach-error';
import type { Clock } from '../clock';
import { agentNotFound, leaseExpired, staleEpoch, versionNotFound } from '../errors';
import { callEtcd, ETCD_CALL_TIMEOUT_MS, isLeaseGone, isOutOfSpace } from '../etcd/etcd-client';
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

/** A registration may be tried again for this long when another one of the same instance came between, milliseconds. */
const REGISTER_AGAIN_MS = ETCD_CALL_TIMEOUT_MS;
/** How often it is said that heartbeats cannot be written down, milliseconds. */
const SAY_AGAIN_MS = 60_000;

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
  private saidUnrecordedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: InstanceStoreOptions) {
    this.goneLease = new SharedLease(options.etcd, GONE_TTL_SEC, () => options.clock.monotonicMs());
  }

  /**
   * Registers an instance, or registers it anew: with a new lease and a greater epoch. Of two at the same time both
   * succeed, one after the other. One that was held up (a paused process, a request that etcd kept) never overwrites a
   * registration that was made meanwhile: whoever sent it has long given it up.
   *
   * @throws ReachError `agent_not_found`, `version_not_found`, `invalid_request`, `engine_unavailable`
   */
  async register(name: string, instanceId: string, request: RegistrationRequest): Promise<Registration> {
    assertAgentName(name);
    assertInstanceId(instanceId);
    const place = { name, instanceId };
    const { record, warnings } = parseRegistration(request, this.options.minTtlSec, this.options.clock.wall());
    return callEtcd(`registering instance ${instanceId} of agent ${name}`, async () => {
      const startedMs = this.options.clock.monotonicMs();
      const known = await this.readPlace(place, record.version);
      const lease = await grantLease(this.options.etcd, record.ttl_sec);
      const stored = { ...record, ttl_sec: lease.ttlSec };
      const epoch = await this.writeRegistration(place, stored, { lease, known, startedMs });
      return { lease_id: lease.id, epoch, ttl_sec: lease.ttlSec, warnings };
    });
  }

  /**
   * Renews the lease and records status and load. While etcd is out of space only the former: the answer is the same,
   * for the lease lives, and routing goes by what was recorded last.
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
        this.writeBeat({ name, instanceId }, record, current.registration).catch(this.tolerateNoSpace),
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

  /** What a registration is going to replace, once it is sure that its version exists. */
  private async readPlace({ name, instanceId }: Place, version: string): Promise<Known> {
    const { etcd, keys } = this.options;
    const response = await etcd.kv.txn({
      compare: [],
      success: [
        getPrefixOp(keys.recordsOf('agent', name), { keys_only: true }),
        getOp(keys.record('instance', name, instanceId)),
      ],
      failure: [],
    });
    const versions = readOf(response, 0).map((entry) => keys.parse(entry.key.toString())?.item ?? '');
    if (versions.length === 0) throw agentNotFound(name);
    if (!versions.includes(version)) throw versionNotFound(name, version, versions);
    return knownOf(readOf(response, 1)[0]);
  }

  /**
   * Writes until nothing came between, and answers the epoch. Both keys move to the new lease in one transaction, so
   * the old lease holds nothing afterwards and revoking it, however late, cannot remove the new registration.
   */
  private async writeRegistration(place: Place, record: InstanceRecord, attempt: RegisterAttempt): Promise<string> {
    const { etcd, logger, clock } = this.options;
    const { lease, startedMs } = attempt;
    for (let { known } = attempt; ;) {
      const response = await etcd.kv.txn(this.registration(place, record, { lease, known }));
      if (response.succeeded) {
        if (known.lease !== null) revokeQuietly(etcd, known.lease, logger);
        return response.header.revision;
      }
      const [agent] = readOf(response, 0);
      const tooLate = clock.monotonicMs() - startedMs >= REGISTER_AGAIN_MS;
      if (agent === undefined || tooLate) revokeQuietly(etcd, lease.id, logger);
      if (agent === undefined) throw agentNotFound(place.name);
      if (tooLate) throw overtaken(place);
      known = knownOf(readOf(response, 1)[0]);
    }
  }

  /** Takes the place over from what was known there; reads what stands in the way when something else does. */
  private registration(
    { name, instanceId }: Place,
    record: InstanceRecord,
    { lease, known }: Pick<RegisterAttempt, 'lease' | 'known'>,
  ): ITxnRequest {
    const { keys } = this.options;
    const [key, agentKey] = [keys.record('instance', name, instanceId), keys.record('agent', name, record.version)];
    const beat: BeatRecord = {
      status: 'ready',
      load: 0,
      in_flight: 0,
      since: record.registered_at,
      last_heartbeat: record.registered_at,
    };
    return {
      compare: [exists(agentKey), unchanged(key, known.revision)],
      success: [
        putOp(key, encodeRecord(record), lease.id),
        putOp(keys.record('beat', name, instanceId), encodeRecord(beat), lease.id),
        deleteOp(keys.record('health', name, instanceId)),
        deleteOp(keys.record('gone', name, instanceId)),
      ],
      failure: [getOp(agentKey), getOp(key)],
    };
  }

  /**
   * The registration that `epoch` names, with its last heartbeat. Read one by one: etcd out of space refuses even
   * transactions that only read. Every write compares the epoch, so nothing depends on both being of one moment.
   */
  private async readCurrent({ name, instanceId }: Place, epoch: string): Promise<Current> {
    const { etcd, keys } = this.options;
    const read = (kind: 'instance' | 'beat') =>
      etcd.kv.range({ key: Buffer.from(keys.record(kind, name, instanceId)) });
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

  /** A lease that was renewed lives, whether or not status and load could be written down. */
  private readonly tolerateNoSpace = (caught: unknown): void => {
    if (!isOutOfSpace(caught)) throw caught;
    const nowMs = this.options.clock.monotonicMs();
    if (nowMs - this.saidUnrecordedMs < SAY_AGAIN_MS) return;
    this.saidUnrecordedMs = nowMs;
    this.options.logger.warn(
      { error: caught },
      'etcd is out of space: leases are renewed, but status and load are not written down; compact, defragment and disarm its alarm',
    );
  };

  private async removeRegistration(place: Place, current: Current): Promise<void> {
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

interface Place {
  name: string;
  instanceId: string;
}

interface Current {
  registration: IKeyValue;
  instance: InstanceRecord | null;
  beat: BeatRecord | null;
}

/** What is registered at a place; revision `'0'` and no lease when nothing is. */
interface Known {
  revision: string;
  lease: string | null;
}

interface RegisterAttempt {
  lease: GrantedLease;
  known: Known;
  /** Monotonic: when the registration was asked for. */
  startedMs: number;
}

function knownOf(entry: IKeyValue | undefined): Known {
  return { revision: entry?.mod_revision ?? '0', lease: entry?.lease ?? null };
}

function overtaken({ name, instanceId }: Place): ReachError {
  return new ReachError(
    'engine_unavailable',
    `Registering instance ${instanceId} of agent ${name} took so long that another registration came first; register again to take over`,
    { retryAfterMs: 1_000 },
  );
}

/** Full is busy, whatever was reported (R14); draining stays draining. */
function effective({ status, in_flight }: Pick<BeatRecord, 'status' | 'in_flight'>, limit: number | null): AgentStatus {
  return status === 'ready' && limit !== null && in_flight >= limit ? 'busy' : status;
}
