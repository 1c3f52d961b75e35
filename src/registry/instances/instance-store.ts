import type { Etcd3 } from 'etcd3';
import { ReachError } from '../../protocol/reach-error';
import type { Clock } from '../clock';
import { leaseExpired } from '../errors';
import { callEtcd } from '../etcd/etcd-client';
import type { LeaseKeeper } from '../etcd/lease-keeper';
import { assertAgentName, assertInstanceId, type Keyspace } from '../keys';
import type { Logger } from '../logger';
import { Beats } from './beats';
import { readCurrent } from './current-registration';
import { Departures } from './departures';
import {
  parseEpoch,
  parseHeartbeat,
  parseRegistration,
  type HeartbeatRequest,
  type RegistrationRequest,
} from './instance-input';
import { Registering } from './registering';

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
  private readonly registering: Registering;
  private readonly beats: Beats;
  private readonly departures: Departures;

  constructor(private readonly options: InstanceStoreOptions) {
    this.registering = new Registering(options);
    this.beats = new Beats(options);
    this.departures = new Departures(options);
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
      const { lease, epoch } = await this.registering.register(place, record);
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
      const current = await readCurrent(this.options, { name, instanceId }, epoch);
      const [remainingSec] = await Promise.all([
        this.options.keeper.keepAlive(current.registration.lease),
        this.beats.record({ name, instanceId }, beat, current),
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
      const current = await readCurrent(this.options, { name, instanceId }, epoch).catch((caught: unknown) => {
        if (caught instanceof ReachError && caught.code === 'lease_expired') return null;
        throw caught;
      });
      if (current === null) return false;
      await this.departures.remove({ name, instanceId }, current);
      return true;
    });
  }
}
