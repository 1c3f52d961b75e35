import { failureP, quantile, slownessP, stratum, totalOf, type Counts, type Histogram } from './statistics';

/** `canary.auto_rollback` of the Config. */
export interface TrialSettings {
  /** Chance that a canary as good as the stable is ever rolled back, over all looks of its trial, 0–1. */
  alpha: number;
  /** Calls of the canary before the first look. */
  minRequests: number;
  /** The canary's failure rate must be higher by at least this as well, 0–1: what is significant may still be nothing. */
  minErrorIncrease: number;
  /** Its median or its p95 must be at least so many times as long as well. */
  minLatencyRatio: number;
}

/** What is known of one canary against one stable version. Plain data: it outlives the process that keeps it. */
export interface Trial {
  /** Since the current block began. */
  canary: Counts;
  stable: Counts;
  excess: number;
  variance: number;
  /** Looks so far, over all blocks. */
  looks: number;
  /** Calls of the canary in this block at which the next look is due. */
  nextLook: number;
}

/** A canary that is worse: by what, with the figures. */
export interface Verdict {
  by: 'failures' | 'latency';
  p: number;
  /** What p had to be below at this look. */
  threshold: number;
  canary: number;
  stable: number;
  requests: { canary: number; stable: number };
  look: number;
}

/** A block ends after so many calls of the canary, so that what was good for long does not hide what has become bad. */
const BLOCK_REQUESTS = 2_000;
/** The next look is due when the block has grown so much. */
const GROWTH = 1.6;
/** Fewer failures or latencies say nothing that a normal approximation may be used for. */
const MIN_FAILURES = 5;
const MIN_LATENCIES = 30;

/**
 * Latencies are compared once the split has been the same for so long, ms: the 5 minutes that histograms look back, and what
 * digests and merging lag. They know no stretches of time: when a version got its calls late and everything has become
 * slower meanwhile, it would look slower than the one that has the fast times in its histogram as well. Nor does a version
 * that was mended answer for what it did before.
 */
export const LATENCY_SETTLE_MS = 315_000;

/** A trial that begins. */
export function newTrial({ minRequests }: TrialSettings): Trial {
  const none = { requests: 0, failures: 0 };
  return { canary: none, stable: none, excess: 0, variance: 0, looks: 0, nextLook: minRequests };
}

/** Adds what both arms did in the same stretch of time. */
export function observe(trial: Trial, canary: Counts, stable: Counts): Trial {
  const { excess, variance } = stratum(canary, stable);
  return {
    ...trial,
    canary: sum(trial.canary, canary),
    stable: sum(trial.stable, stable),
    excess: trial.excess + excess,
    variance: trial.variance + variance,
  };
}

/**
 * Looks at a trial when it is due. Look number k spends α · 6 / (π² k²), half of it on each test: all looks that there can
 * ever be sum to α, so by Bonferroni's inequality, which asks for no independence, a canary that is as good is rolled back
 * with chance α at most, however often it is looked at.
 * @param latencies null: not to be compared, because they are not of one split (see {@link LATENCY_SETTLE_MS})
 */
export function look(
  trial: Trial,
  latencies: { canary: Histogram; stable: Histogram } | null,
  settings: TrialSettings,
): { trial: Trial; verdict: Verdict | null } {
  if (trial.canary.requests < trial.nextLook) return { trial, verdict: null };
  const number = trial.looks + 1;
  const threshold = spentAt(number, settings.alpha) / 2;
  const requests = { canary: trial.canary.requests, stable: trial.stable.requests };
  const told = { threshold, requests, look: number };
  const tests = [moreFailures(trial, settings), latencies && slower(latencies, settings)];
  const found = tests.find((one) => one !== null && one.p < threshold);
  const verdict = found ? { ...found, ...told } : null;
  const next = { ...trial, looks: number, nextLook: Math.ceil(trial.canary.requests * GROWTH) };
  if (trial.canary.requests < BLOCK_REQUESTS) return { trial: next, verdict };
  return { trial: { ...newTrial(settings), looks: number }, verdict };
}

/** Of α, what look number k may spend: the inverse squares sum to π²/6. */
export function spentAt(number: number, alpha: number): number {
  return (alpha * 6) / (Math.PI ** 2 * number ** 2);
}

type Found = Pick<Verdict, 'by' | 'p' | 'canary' | 'stable'>;

function moreFailures({ canary, stable, excess, variance }: Trial, settings: TrialSettings): Found | null {
  const [own, other] = [rate(canary), rate(stable)];
  if (canary.failures < MIN_FAILURES || own - other < settings.minErrorIncrease) return null;
  return { by: 'failures', p: failureP({ excess, variance }), canary: own, stable: other };
}

function slower(
  { canary, stable }: { canary: Histogram; stable: Histogram },
  { minLatencyRatio }: TrialSettings,
): Found | null {
  if (totalOf(canary) < MIN_LATENCIES || totalOf(stable) < MIN_LATENCIES) return null;
  const worse = [0.95, 0.5].find((share) => quantile(canary, share)! >= quantile(stable, share)! * minLatencyRatio);
  if (worse === undefined) return null;
  return {
    by: 'latency',
    p: slownessP(canary, stable),
    canary: quantile(canary, worse)!,
    stable: quantile(stable, worse)!,
  };
}

function rate({ requests, failures }: Counts): number {
  return requests === 0 ? 0 : failures / requests;
}

function sum(a: Counts, b: Counts): Counts {
  return { requests: a.requests + b.requests, failures: a.failures + b.failures };
}
