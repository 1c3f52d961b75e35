import { assertBreakerSettings, breakerSettings, type BreakerSection } from './index';

/** The defaults of R28. */
const section: BreakerSection = {
  enabled: true,
  window_sec: 120,
  trip_failures: 6,
  trip_window: 10,
  error_rate: 0.5,
  min_requests: 20,
  sustained_sec: 10,
  bypass_share: 0.05,
  bypass_successes: 10,
  probe_interval_sec: 5,
  recovery_steps: [0.1, 0.25, 0.5],
  recovery_successes: 5,
  recovery_step_sec: 10,
};

it('turns the section of the configuration into milliseconds', () => {
  expect(breakerSettings(section)).toMatchObject({ windowMs: 120_000, sustainedMs: 10_000, latencyMs: null });
  expect(breakerSettings({ ...section, latency_ms: 800 }).latencyMs).toBe(800);
});

it.each<[keyof ReturnType<typeof breakerSettings>, Partial<BreakerSection>]>([
  ['tripFailures', { trip_failures: 0 }],
  ['tripFailures', { trip_failures: 11 }],
  ['tripWindow', { trip_window: 9.5 }],
  ['minRequests', { min_requests: Number.NaN }],
  ['errorRate', { error_rate: 0 }],
  ['errorRate', { error_rate: 101 }],
  ['windowMs', { window_sec: -1 }],
  ['windowMs', { window_sec: Infinity }],
  ['sustainedMs', { sustained_sec: -0.1 }],
  ['latencyMs', { latency_ms: 0 }],
  ['bypassShare', { bypass_share: 0 }],
  ['bypassShare', { bypass_share: 1 }],
  ['bypassSuccesses', { bypass_successes: 0 }],
  ['probeIntervalMs', { probe_interval_sec: 0 }],
  ['recoverySteps', { recovery_steps: [] }],
  ['recoverySteps', { recovery_steps: [0.5, 0.25] }],
  ['recoverySteps', { recovery_steps: [0, 0.5] }],
  ['recoverySteps', { recovery_steps: [0.5, 1] }],
  ['recoverySuccesses', { recovery_successes: 0 }],
  ['recoveryStepMs', { recovery_step_sec: 0 }],
])('refuses %s of %j by name', (name, wrong) => {
  const make = () => breakerSettings({ ...section, ...wrong });
  expect(make).toThrow(RangeError);
  expect(make).toThrow(`breaker setting ${name} must be`);
});

it('accepts the edges', () => {
  expect(() => assertBreakerSettings(breakerSettings({ ...section, error_rate: 1, sustained_sec: 0 }))).not.toThrow();
});
