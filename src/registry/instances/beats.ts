import type { Etcd3, IKeyValue } from 'etcd3';
import type { AgentStatus } from '../../protocol/shapes';
import type { Clock } from '../clock';
import { leaseExpired, staleEpoch } from '../errors';
import { isLeaseGone, isOutOfSpace } from '../etcd/etcd-client';
import { getOp, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import type { Keyspace } from '../keys';
import type { Logger } from '../logger';
import { encodeRecord, type BeatRecord } from '../records';
import type { Current, Place } from './current-registration';

/** How often it is said that heartbeats cannot be written down, milliseconds. */
const SAY_AGAIN_MS = 60_000;

/** What a heartbeat says. */
export type ReportedBeat = Omit<BeatRecord, 'since' | 'last_heartbeat'>;

/** Writes down what instances report (R13). While etcd is out of space nothing is, and that is said now and then. */
export class Beats {
  private saidUnrecordedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: { etcd: Etcd3; keys: Keyspace; logger: Logger; clock: Clock }) {}

  /** Records status and load of a registration. @throws ReachError `lease_expired`, `stale_epoch`; an etcd error */
  async record(place: Place, reported: ReportedBeat, current: Current): Promise<void> {
    await this.writeBeat(place, this.nextBeat(reported, current), current.registration).catch(this.tolerateNoSpace);
  }

  private nextBeat(reported: ReportedBeat, { instance, beat }: Current): BeatRecord {
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
}

/** Full is busy, whatever was reported (R14); draining stays draining. */
function effective({ status, in_flight }: Pick<BeatRecord, 'status' | 'in_flight'>, limit: number | null): AgentStatus {
  return status === 'ready' && limit !== null && in_flight >= limit ? 'busy' : status;
}
