import type { AbilityStats } from '../../protocol/world';
import { LogHistogram, type Bucket } from './log-histogram';
import { mergeOutcomes, OutcomeWindow, type OutcomeBlock } from './outcome-window';
import { SlidingHistogram } from './sliding-histogram';

/** What one process tells the others of one series. */
export interface SeriesDigest {
  latency: Bucket[];
  outcomes: OutcomeBlock[];
  inFlight: number;
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
    this.outcomes.add(outcome === 'failure', at.endedSec);
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

  digest(): SeriesDigest {
    return { latency: this.latency.buckets(), outcomes: this.outcomes.blocks(), inFlight: this.running };
  }
}

/** One view of what several processes measured; null when none has measured anything. */
export function mergeDigests(digests: readonly SeriesDigest[]): AbilityStats | null {
  if (digests.length === 0) return null;
  const latency = new LogHistogram();
  for (const digest of digests) latency.merge(digest.latency, 1);
  const { requests, failures } = mergeOutcomes(digests.map((digest) => digest.outcomes));
  const [p50, p95, p99] = latency.quantiles([0.5, 0.95, 0.99]) ?? [null, null, null];
  return {
    requests,
    failures,
    p50_ms: p50 ?? null,
    p95_ms: p95 ?? null,
    p99_ms: p99 ?? null,
    in_flight: digests.reduce((sum, digest) => sum + digest.inFlight, 0),
  };
}
