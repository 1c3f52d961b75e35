import type { AbilityStats, StatsLookup } from '../../protocol/world';
import { momentOf, type Clock } from '../clock';
import { deleteOp, putOp } from '../etcd/etcd-ops';
import { encodeAgentDigest, seriesKey, type MeasuredSeries, type SeriesId } from './agent-digest';
import { DigestExchange, type DigestExchangeOptions, type Publication } from './digest-exchange';
import { DEFAULT_HALF_LIFE_MS, faded } from './forgetting';
import { LocalStats, type Sample, type SampleKey } from './local-stats';
import { RemoteStats } from './remote-stats';
import { countedOf, type Counted } from './counted';
import { mergeDigests, type MergedStats } from './series';

export interface StatsHubOptions extends DigestExchangeOptions {
  /** `router.learning.half_life`: after so long an outcome weighs half. Default 10 min. */
  halfLifeMs?: number;
}

/**
 * Measured behaviour (R17, R18), shared by all processes: each publishes a digest per agent once a second when it
 * changed, under a lease of its own, and merges everybody's. Latency is that of the last 5 minutes' successes,
 * failures are those of the last 1000 requests, calls in flight are everybody's as of a second ago and our own as of now.
 */
export class StatsHub {
  private readonly clock: Clock;
  private readonly halfLifeMs: number;
  private readonly local: LocalStats;
  private readonly remote: RemoteStats;
  private readonly exchange: DigestExchange;
  private readonly merged = new Map<string, { versions: string; stats: MergedStats | null; atMs: number }>();

  constructor({ halfLifeMs = DEFAULT_HALF_LIFE_MS, ...options }: StatsHubOptions) {
    this.exchange = new DigestExchange(options, {
      what: 'measurements',
      prefixOf: (keys) => keys.stats,
      advance: () => this.forgetMerged(this.local.expire()),
      forgetTold: () => this.local.markChanged(),
      publication: (leaseId) => this.publication(leaseId),
      apply: (changes) => this.remote.apply(changes),
    });
    const { keys, clock, processId } = this.exchange;
    this.clock = clock;
    this.halfLifeMs = halfLifeMs;
    this.local = new LocalStats(clock, halfLifeMs);
    this.remote = new RemoteStats({
      keys,
      logger: options.logger,
      ownProcessId: processId,
      clock,
      onGone: (gone) => this.forgetMerged(gone),
    });
  }

  /** Begins to publish and to follow the others. @throws ReachError `engine_unavailable`; may be called again. */
  start(): Promise<void> {
    return this.exchange.start();
  }

  /** Withdraws this process's digests. What was measured stays readable here. */
  stop(): Promise<void> {
    return this.exchange.stop();
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
    const mine = own === undefined ? [] : [[this.exchange.processId, own.digest(weighing)] as const];
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

  /** Instances come and go by the thousand, and nobody asks for one that is gone. */
  private forgetMerged(seriesKeys: Iterable<string>): void {
    for (const key of seriesKeys) this.merged.delete(key);
  }

  private publication(leaseId: string): Publication {
    const { keys, processId } = this.exchange;
    const changed = this.local.takeChanged();
    const moment = momentOf(this.clock);
    const writeOf = (name: string, series: readonly MeasuredSeries[]) => {
      const key = keys.digest(processId, name);
      return series.length === 0 ? deleteOp(key) : putOp(key, encodeAgentDigest(series, moment), leaseId);
    };
    const writes = new Map([...changed].map(([name, series]) => [name, [writeOf(name, series)]]));
    return { writes, takeBack: (names) => this.local.markChanged(names) };
  }
}

/** Three digits behind the point: people read it. */
function short(weight: number): number {
  return Math.round(weight * 1_000) / 1_000;
}
