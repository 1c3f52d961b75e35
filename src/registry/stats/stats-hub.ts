import { randomUUID } from 'node:crypto';
import type { AbilityStats, StatsLookup } from '../../protocol/world';
import { momentOf, systemClock, type Clock } from '../clock';
import { deleteOp, putOp } from '../etcd/etcd-ops';
import { Keyspace } from '../keys';
import { LeaseKeeper } from '../etcd/lease-keeper';
import type { Logger } from '../logger';
import { PrefixMirror } from '../mirror/prefix-mirror';
import { OwnLease } from '../etcd/own-lease';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { Ticker } from '../ticker';
import { encodeAgentDigest, seriesKey, type MeasuredSeries, type SeriesId } from './agent-digest';
import { DEFAULT_HALF_LIFE_MS, faded } from './forgetting';
import { LocalStats, type Sample, type SampleKey } from './local-stats';
import { RemoteStats } from './remote-stats';
import { countedOf, type Counted } from './counted';
import { mergeDigests, type MergedStats } from './series';

/** The digests of a process that died vanish after this long. */
const DIGEST_TTL_SEC = 15;
const DEFAULT_PUBLISH_MS = 1_000;
const AUDIT_MS = 30_000;

export interface StatsHubOptions extends RegistryOptions {
  /** How often changed digests are published, milliseconds. Default 1000. */
  publishIntervalMs?: number;
  /** `router.learning.half_life`: after so long an outcome weighs half. Default 10 min. */
  halfLifeMs?: number;
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
  private readonly clock: Clock;
  private readonly halfLifeMs: number;
  private readonly keeper: LeaseKeeper;
  private readonly lease: OwnLease;
  private readonly local: LocalStats;
  private readonly remote: RemoteStats;
  private readonly mirror: PrefixMirror;
  private readonly ticker: Ticker;
  private readonly merged = new Map<string, { versions: string; stats: MergedStats | null; atMs: number }>();

  constructor({
    etcd,
    keyPrefix = DEFAULT_KEY_PREFIX,
    tenant,
    logger,
    clock = systemClock,
    publishIntervalMs = DEFAULT_PUBLISH_MS,
    halfLifeMs = DEFAULT_HALF_LIFE_MS,
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
    this.clock = clock;
    this.halfLifeMs = halfLifeMs;
    this.local = new LocalStats(clock, halfLifeMs);
    this.remote = new RemoteStats({ keys: this.keys, logger, ownProcessId: this.processId, clock });
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

  /** What every process has counted of one ability of a version: for comparing versions (R21). */
  counted(agentName: string, agentVersion: string, ability: string): Counted {
    const key = seriesKey(agentName, { version: agentVersion, ability });
    const own = this.local.get(agentName, key);
    const weighing = { nowMs: this.clock.monotonicMs(), halfLifeMs: this.halfLifeMs };
    const mine = own === undefined ? [] : [[this.processId, own.digest(weighing)] as const];
    return countedOf([...mine, ...this.remote.byProcess(key)]);
  }

  private readonly reader: StatsLookup = {
    ability: (agentName, agentVersion, ability) => this.read(agentName, { version: agentVersion, ability }),
    instance: (agentName, instanceId) => this.read(agentName, { instanceId }),
  };

  /**
   * Merging is kept until a series has a new outcome; what changes with every call or with time, calls in flight and what
   * the outcomes weigh, is added to it.
   */
  private read(agentName: string, id: SeriesId): AbilityStats | null {
    const key = seriesKey(agentName, id);
    const own = this.local.get(agentName, key);
    const versions = `${own?.version ?? '-'}.${this.remote.version(key)}`;
    // Whole seconds: within one, the same outcomes are worth the same, whoever is asked about first.
    const nowMs = Math.floor(this.clock.monotonicMs() / 1_000) * 1_000;
    const weighing = { nowMs, halfLifeMs: this.halfLifeMs };
    let known = this.merged.get(key);
    if (known?.versions !== versions) {
      const mine = own === undefined ? [] : [{ ...own.digest(weighing), inFlight: 0 }];
      known = {
        versions,
        stats: mergeDigests([...mine, ...this.remote.digests(key)], weighing),
        atMs: nowMs,
      };
      if (known.stats === null) this.merged.delete(key);
      else this.merged.set(key, known);
    }
    const { stats, atMs } = known;
    if (stats === null) return null;
    const evidence = faded({ ...stats.evidence, atMs }, nowMs, this.halfLifeMs);
    return {
      ...stats,
      evidence: { requests: short(evidence.requests), failures: short(evidence.failures) },
      in_flight: stats.in_flight + (own?.inFlight ?? 0),
    };
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
    const moment = momentOf(this.clock);
    const writes = [...changed].map(([name, series]) => {
      const key = this.keys.digest(this.processId, name);
      return series.length === 0 ? deleteOp(key) : putOp(key, encodeAgentDigest(series, moment), leaseId);
    });
    try {
      await this.lease.write(writes);
    } catch (error) {
      this.local.markChanged(changed.keys());
      throw error;
    }
  }
}

/** Three digits behind the point: people read it. */
function short(weight: number): number {
  return Math.round(weight * 1_000) / 1_000;
}
