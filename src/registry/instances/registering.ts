import type { Etcd3, IKeyValue, ITxnRequest } from 'etcd3';
import { ReachError } from '../../protocol/reach-error';
import type { Clock } from '../clock';
import { agentNotFound, versionNotFound } from '../errors';
import { ETCD_CALL_TIMEOUT_MS } from '../etcd/etcd-client';
import { deleteOp, exists, getOp, getPrefixOp, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import { grantLease, revokeQuietly, type GrantedLease } from '../etcd/leases';
import type { Keyspace } from '../keys';
import type { Logger } from '../logger';
import { encodeRecord, type BeatRecord, type InstanceRecord } from '../records';
import type { Place } from './current-registration';

/** A registration may be tried again for this long when another one of the same instance came between, milliseconds. */
const REGISTER_AGAIN_MS = ETCD_CALL_TIMEOUT_MS;

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

/** Registers instances: the place of one is taken over from what was known there, and from nothing else. */
export class Registering {
  constructor(private readonly options: { etcd: Etcd3; keys: Keyspace; logger: Logger; clock: Clock }) {}

  /**
   * Registers under a new lease and answers it with the epoch.
   *
   * @throws ReachError `agent_not_found`, `version_not_found`, `engine_unavailable` when overtaken too long; an etcd error
   */
  async register(place: Place, record: InstanceRecord): Promise<{ lease: GrantedLease; epoch: string }> {
    const startedMs = this.options.clock.monotonicMs();
    const known = await this.readPlace(place, record.version);
    const lease = await grantLease(this.options.etcd, record.ttl_sec);
    const stored = { ...record, ttl_sec: lease.ttlSec };
    return { lease, epoch: await this.writeRegistration(place, stored, { lease, known, startedMs }) };
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
