import type { AbilityStats } from '../../protocol/world';
import { faded, pooled, type Evidence } from './forgetting';
import { LogHistogram, type Bucket } from './log-histogram';
import { mergeOutcomes, OUTCOME_WINDOW, OutcomeWindow, type OutcomeBlock } from './outcome-window';
import { SlidingHistogram } from './sliding-histogram';

/** What one process tells the others of one series. */
export interface SeriesDigest {
  latency: Bucket[];
  outcomes: OutcomeBlock[];
  /** What the outcomes weigh by their age. */
  evidence: Evidence;
  /** All outcomes since this process began to count them; absent in what an earlier release wrote. */
  totals?: { requests: number; failures: number };
  inFlight: number;
}

/** By what and when outcomes are weighed. */
export interface Weighing {
  /** Monotonic. */
  nowMs: number;
  halfLifeMs: number;
}

/** How a call ended. `neutral`: the caller's fault, not counted. */
export type SampleOutcome = 'ok' | 'failure' | 'neutral';

/** Shared by all series, so that one that is forgotten and begun anew never shows a version again. */
let lastVersion = 0;

/** This process's own measurements of one ability of a version, or of one instance. */
export class Series {
  private readonly latency = new SlidingHistogram();
  private readonly outcomes = new OutcomeWindow();
  private running = 0;
  private readonly totals = { requests: 0, failures: 0 };
  /** Grows with every outcome counted or forgotten. */
  version = ++lastVersion;
  lastTouchedMs: number;

  constructor(nowMs: number) {
    this.lastTouchedMs = nowMs;
  }

  get inFlight(): number {
    return this.running;
  }

  /**
   * Counts one outcome. Only successes count for latency: a quick refusal would make a broken agent look fast, and
   * what a failure costs is in the failure rate.
   */
  record(
    outcome: Exclude<SampleOutcome, 'neutral'>,
    durationMs: number,
    at: { nowMs: number; endedSec: number },
  ): void {
    this.lastTouchedMs = at.nowMs;
    this.version = ++lastVersion;
    this.outcomes.add(outcome === 'failure', at.endedSec, at.nowMs);
    this.totals.requests += 1;
    if (outcome === 'failure') this.totals.failures += 1;
    if (outcome === 'ok' && Number.isFinite(durationMs)) this.latency.add(durationMs, at.nowMs);
  }

  started(nowMs: number): void {
    this.lastTouchedMs = nowMs;
    this.running += 1;
  }

  ended(nowMs: number): void {
    this.lastTouchedMs = nowMs;
    this.running = Math.max(0, this.running - 1);
  }

  /** Forgets latencies that are too old. Answers whether there were any. */
  expire(nowMs: number): boolean {
    const changed = this.latency.expire(nowMs);
    if (changed) this.version = ++lastVersion;
    return changed;
  }

  digest({ nowMs, halfLifeMs }: Weighing): SeriesDigest {
    return {
      latency: this.latency.buckets(),
      outcomes: this.outcomes.blocks(),
      evidence: { ...this.outcomes.weigh(nowMs, halfLifeMs), atMs: nowMs },
      totals: { ...this.totals },
      inFlight: this.running,
    };
  }
}

/** Statistics that say what their outcomes still weigh. */
export type MergedStats = AbilityStats & Required<Pick<AbilityStats, 'evidence'>>;

/** One view of what several processes measured; null when none has measured anything. */
export function mergeDigests(digests: readonly SeriesDigest[], { nowMs, halfLifeMs }: Weighing): MergedStats | null {
  if (digests.length === 0) return null;
  const latency = new LogHistogram();
  for (const digest of digests) latency.merge(digest.latency, 1);
  const { requests, failures } = mergeOutcomes(digests.map((digest) => digest.outcomes));
  const evidence = pooled(
    digests.map((digest) => faded(digest.evidence, nowMs, halfLifeMs)),
    OUTCOME_WINDOW,
  );
  const [p50, p95, p99] = latency.quantiles([0.5, 0.95, 0.99]) ?? [null, null, null];
  return {
    requests,
    failures,
    evidence,
    p50_ms: p50 ?? null,
    p95_ms: p95 ?? null,
    p99_ms: p99 ?? null,
    in_flight: digests.reduce((sum, digest) => sum + digest.inFlight, 0),
  };
}
