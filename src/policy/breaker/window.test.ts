import fc from 'fast-check';
import type { BreakerSettings } from './settings';
import { isErrorRateHigh, judgeLastCalls, judgeLatency, sumWindows, type SeenDigest } from './verdict';
import { OutcomeWindow } from './window';

const settings: BreakerSettings = {
  enabled: true,
  windowMs: 24_000,
  tripFailures: 3,
  tripWindow: 5,
  errorRate: 0.5,
  minRequests: 20,
  sustainedMs: 10_000,
  latencyMs: 100,
  bypassShare: 0.05,
  bypassSuccesses: 10,
  probeIntervalMs: 5_000,
  recoverySteps: [0.1, 0.25, 0.5],
  recoverySuccesses: 5,
  recoveryStepMs: 10_000,
};
const now = (window: OutcomeWindow, nowMs: number): SeenDigest => ({ digest: window.digest(nowMs), elapsedMs: 0 });

it('counts what is in the window and nothing older, to within a 24th of it', () => {
  const call = fc.record({ gapMs: fc.nat({ max: 4_000 }), failed: fc.boolean(), durationMs: fc.nat({ max: 200 }) });
  const property = fc.property(fc.array(call, { maxLength: 80 }), fc.nat({ max: 30_000 }), (calls, idleMs) => {
    const window = new OutcomeWindow(settings);
    let nowMs = 1_000_000;
    const ended = calls.map(({ gapMs, failed, durationMs }) => {
      nowMs += gapMs;
      window.add(failed, durationMs, nowMs);
      return { atMs: nowMs, failed };
    });
    nowMs += idleMs;
    const within = (ms: number) => ended.filter(({ atMs }) => nowMs - atMs < ms);
    const { ok, failed, slow } = sumWindows([now(window, nowMs)], settings);
    expect(ok + failed).toBeGreaterThanOrEqual(within(settings.windowMs - 1_000).length);
    expect(ok + failed).toBeLessThanOrEqual(within(settings.windowMs).length);
    expect(slow).toBeLessThanOrEqual(ok);
    const recent = within(settings.windowMs).slice(-5);
    expect(window.digest(nowMs).recent.map(([, bad]) => bad === 1)).toEqual(recent.map((one) => one.failed).reverse());
  });
  fc.assert(property);
});

it('merges the last calls of several processes by age', () => {
  const digest = (recent: [number, 0 | 1][], elapsedMs = 0) => ({ digest: { recent, buckets: [] }, elapsedMs });
  // Newest five: ages 10, 20, 30, 40, 50; the third failure is the sixth newest.
  const mine = digest([
    [20, 1],
    [30, 0],
    [60, 1],
  ]);
  const theirs = digest(
    [
      [0, 1],
      [30, 0],
      [40, 0],
    ],
    10,
  );
  expect(judgeLastCalls([mine, theirs], settings)).toBeNull();
  const worse = digest(
    [
      [0, 1],
      [30, 1],
      [40, 0],
    ],
    10,
  );
  expect(judgeLastCalls([mine, worse], settings)).toEqual({ to: 'bypass', reason: '3 of the last 5 calls failed' });
});

it('does nothing for a lone failure after silence, whatever was long ago', () => {
  const window = new OutcomeWindow(settings);
  for (let n = 0; n < 4; n++) window.add(true, 1, 1_000);
  window.add(true, 1, 600_000);
  expect(judgeLastCalls([now(window, 600_000)], settings)).toBeNull();
  expect(sumWindows([now(window, 600_000)], settings)).toEqual({ ok: 0, failed: 1, slow: 0 });
});

it.each([
  [{ ok: 9, failed: 10, slow: 0 }, 0.5, false], // under the minimum of 20
  [{ ok: 10, failed: 10, slow: 0 }, 0.5, false], // at the limit is not over it
  [{ ok: 10, failed: 11, slow: 0 }, 0.5, true],
  [{ ok: 1, failed: 99, slow: 0 }, 1, false],
  [{ ok: 0, failed: 20, slow: 0 }, 1, true],
])('error rate of %j over %d: %s', (sums, errorRate, high) => {
  expect(isErrorRateHigh(sums, { ...settings, errorRate, minRequests: 20 })).toBe(high);
});

it('opens for a p95 over the limit: more than one success in twenty is slower', () => {
  expect(judgeLatency({ ok: 100, failed: 0, slow: 5 }, settings)).toBeNull();
  expect(judgeLatency({ ok: 19, failed: 50, slow: 19 }, settings)).toBeNull();
  expect(judgeLatency({ ok: 100, failed: 0, slow: 6 }, settings)).toMatchObject({ to: 'open' });
  expect(judgeLatency({ ok: 100, failed: 0, slow: 100 }, { ...settings, latencyMs: null })).toBeNull();
});
