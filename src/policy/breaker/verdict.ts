/** What the calls of all processes together prove about a breaker (R28). */
import type { Evidence } from './record';
import type { BreakerSettings } from './settings';
import type { WindowDigest } from './window';

/** One in twenty slower than the limit: that is what a p95 over it means. */
const SLOW_SHARE = 0.05;

/** A digest that was true `elapsedMs` ago. */
export interface SeenDigest {
  digest: WindowDigest;
  elapsedMs: number;
}

/** Sums over the window, of all processes. */
export interface WindowSums {
  ok: number;
  failed: number;
  slow: number;
}

/** Adds up what is still in the window. */
export function sumWindows(seen: readonly SeenDigest[], { windowMs }: Pick<BreakerSettings, 'windowMs'>): WindowSums {
  const sums = { ok: 0, failed: 0, slow: 0 };
  for (const { digest, elapsedMs } of seen) {
    for (const [ageMs, ok, failed, slow] of digest.buckets) {
      if (ageMs + elapsedMs >= windowMs) continue;
      sums.ok += ok;
      sums.failed += failed;
      sums.slow += slow;
    }
  }
  return sums;
}

/** Trips when `tripFailures` of the last `tripWindow` calls failed; calls older than the window count no more (T08). */
export function judgeLastCalls(seen: readonly SeenDigest[], settings: BreakerSettings): Evidence | null {
  const { tripFailures, tripWindow, windowMs } = settings;
  const last = seen
    .flatMap(({ digest, elapsedMs }) => digest.recent.map(([ageMs, failed]) => ({ ageMs: ageMs + elapsedMs, failed })))
    .filter(({ ageMs }) => ageMs < windowMs)
    .sort((a, b) => a.ageMs - b.ageMs)
    .slice(0, tripWindow);
  const failures = last.reduce((sum, { failed }) => sum + failed, 0);
  return failures < tripFailures
    ? null
    : { to: 'bypass', reason: `${failures} of the last ${last.length} calls failed` };
}

/** Whether the error rate is too high right now; it opens the breaker once it has been so for `sustainedMs`. */
export function isErrorRateHigh({ ok, failed }: WindowSums, { errorRate, minRequests }: BreakerSettings): boolean {
  const requests = ok + failed;
  if (requests < minRequests) return false;
  return failed / requests > errorRate || (errorRate === 1 && ok === 0);
}

/** Opens when the p95 of the successful calls is over the limit. */
export function judgeLatency({ ok, slow }: WindowSums, { latencyMs, minRequests }: BreakerSettings): Evidence | null {
  if (latencyMs === null || ok < minRequests || slow <= ok * SLOW_SHARE) return null;
  return { to: 'open', reason: `p95 is over ${latencyMs} ms: ${slow} of ${ok} calls were slower` };
}

/** The evidence of an error rate that stayed too high. */
export function sustainedErrors({ ok, failed }: WindowSums, { sustainedMs }: BreakerSettings): Evidence {
  return { to: 'open', reason: `${failed} of ${ok + failed} calls failed, for ${sustainedMs / 1_000} s` };
}
