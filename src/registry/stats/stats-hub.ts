import { randomUUID } from 'node:crypto';
import type { AbilityStats, StatsLookup } from '../../protocol/world';
import { systemClock } from '../clock';
import { deleteOp, putOp } from '../etcd/etcd-ops';
import { Keyspace } from '../keys';
import { LeaseKeeper } from '../etcd/lease-keeper';
import type { Logger } from '../logger';
import { PrefixMirror } from '../mirror/prefix-mirror';
import { OwnLease } from '../etcd/own-lease';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { Ticker } from '../ticker';
import { encodeAgentDigest, seriesKey, type MeasuredSeries, type SeriesId } from './agent-digest';
import { LocalStats, type Sample, type SampleKey } from './local-stats';
import { RemoteStats } from './remote-stats';
import { mergeDigests } from './series';

/** The digests of a process that died vanish after this long. */
const DIGEST_TTL_SEC = 15;
const DEFAULT_PUBLISH_MS = 1_000;
const AUDIT_MS = 30_000;

export interface StatsHubOptions extends RegistryOptions {
  /** How often changed digests are published, milliseconds. Default 1000. */
  publishIntervalMs?: number;
}

/**
 * Measured behaviour (R17, R18), shared by all processes: each publishes a digest per agent once a second when it
 * changed, under a lease of its own, and merges everybody's. Latency is that of the last 5 minutes' successes,
 * failures are those of the last 1000 requests, calls in flight are everybody's as of a second ago and our own as of now.
 */
export class StatsHub {
  private readonly processId = randomUUID();
  private readonly keys: Keyspace;
  private readonly logger: Logger;
  private readonly keeper: LeaseKeeper;
  private readonly lease: OwnLease;
  private readonly local: LocalStats;
  private readonly remote: RemoteStats;
  private readonly mirror: PrefixMirror;
  private readonly ticker: Ticker;
  private readonly merged = new Map<string, { versions: string; stats: AbilityStats | null }>();

  constructor({
    etcd,
    keyPrefix = DEFAULT_KEY_PREFIX,
    tenant,
    logger,
    clock = systemClock,
    publishIntervalMs = DEFAULT_PUBLISH_MS,
  }: StatsHubOptions) {
    this.keys = new Keyspace(keyPrefix, tenant);
    this.logger = logger;
    this.keeper = new LeaseKeeper(etcd);
    this.lease = new OwnLease({
      etcd,
      keeper: this.keeper,
      logger,
      ttlSec: DIGEST_TTL_SEC,
      monotonicMs: () => clock.monotonicMs(),
    });
    this.local = new LocalStats(clock);
    this.remote = new RemoteStats({ keys: this.keys, logger, ownProcessId: this.processId });
    this.mirror = new PrefixMirror({
      etcd,
      prefix: this.keys.stats,
      refreshIntervalMs: AUDIT_MS,
      logger,
      clock,
      onChanges: (changes) => this.remote.apply(changes),
    });
    this.ticker = new Ticker(publishIntervalMs, () => this.tick());
  }

  /** Begins to publish and to follow the others. @throws ReachError `engine_unavailable`; may be called again. */
  async start(): Promise<void> {
    await this.mirror.start();
    this.ticker.start();
  }

  /** Withdraws this process's digests. What was measured stays readable here. */
  async stop(): Promise<void> {
    await this.ticker.stop();
    await this.mirror.stop();
    this.lease.release();
    this.keeper.close();
  }

  /** Counts one finished call, for the ability and for the instance. `neutral` (the caller's fault) counts for nothing. */
  record(sample: Sample): void {
    this.local.record(sample);
  }

  /** Counts a call as in flight until the returned function is called (again: nothing). */
  started(key: SampleKey): () => void {
    return this.local.started(key);
  }

  /** Reads without waiting; the same object always. */
  lookup(): StatsLookup {
    return this.reader;
  }

  private readonly reader: StatsLookup = {
    ability: (agentName, agentVersion, ability) => this.read(agentName, { version: agentVersion, ability }),
    instance: (agentName, instanceId) => this.read(agentName, { instanceId }),
  };

  /** Merging is kept until a series has a new outcome; calls in flight, which change with every call, are added to it. */
  private read(agentName: string, id: SeriesId): AbilityStats | null {
    const key = seriesKey(agentName, id);
    const own = this.local.get(agentName, key);
    const versions = `${own?.version ?? '-'}.${this.remote.version(key)}`;
    let known = this.merged.get(key);
    if (known?.versions !== versions) {
      const digests = [...(own === undefined ? [] : [{ ...own.digest(), inFlight: 0 }]), ...this.remote.digests(key)];
      known = { versions, stats: mergeDigests(digests) };
      if (known.stats === null) this.merged.delete(key);
      else this.merged.set(key, known);
    }
    return known.stats && { ...known.stats, in_flight: known.stats.in_flight + (own?.inFlight ?? 0) };
  }

  private async tick(): Promise<void> {
    this.local.expire();
    try {
      const { id, isNew } = await this.lease.ensure();
      if (isNew) this.local.markChanged();
      await this.publish(this.local.takeChanged(), id);
    } catch (error) {
      this.logger.debug({ error }, 'measurements could not be published; trying again');
    }
  }

  private async publish(changed: ReadonlyMap<string, MeasuredSeries[]>, leaseId: string): Promise<void> {
    const writes = [...changed].map(([name, series]) => {
      const key = this.keys.digest(this.processId, name);
      return series.length === 0 ? deleteOp(key) : putOp(key, encodeAgentDigest(series), leaseId);
    });
    try {
      await this.lease.write(writes);
    } catch (error) {
      this.local.markChanged(changed.keys());
      throw error;
    }
  }
}
