/** When a breaker trips and how it recovers (R28); the section `breaker` of the configuration in the units of code. */
export interface BreakerSettings {
  /** False: nothing trips by itself; an operator's override still holds. */
  readonly enabled: boolean;
  readonly windowMs: number;
  readonly tripFailures: number;
  readonly tripWindow: number;
  /** 0–1; opens above it, and at it where it is 1, or it could never open. */
  readonly errorRate: number;
  readonly minRequests: number;
  readonly sustainedMs: number;
  /** Null: latency opens nothing. */
  readonly latencyMs: number | null;
  readonly bypassShare: number;
  readonly bypassSuccesses: number;
  readonly probeIntervalMs: number;
  /** Shares of the traffic, growing; after the last one everything passes. */
  readonly recoverySteps: readonly number[];
  readonly recoverySuccesses: number;
  readonly recoveryStepMs: number;
}

/** The section `breaker` as it is written, in the units of the configuration. */
export interface BreakerSection {
  enabled: boolean;
  window_sec: number;
  trip_failures: number;
  trip_window: number;
  error_rate: number;
  min_requests: number;
  sustained_sec: number;
  latency_ms?: number | undefined;
  bypass_share: number;
  bypass_successes: number;
  probe_interval_sec: number;
  recovery_steps: readonly number[];
  recovery_successes: number;
  recovery_step_sec: number;
}

/** Turns the configuration's section into settings. @throws RangeError as {@link assertBreakerSettings} */
export function breakerSettings(section: BreakerSection): BreakerSettings {
  const settings: BreakerSettings = {
    enabled: section.enabled,
    windowMs: section.window_sec * 1_000,
    tripFailures: section.trip_failures,
    tripWindow: section.trip_window,
    errorRate: section.error_rate,
    minRequests: section.min_requests,
    sustainedMs: section.sustained_sec * 1_000,
    latencyMs: section.latency_ms ?? null,
    bypassShare: section.bypass_share,
    bypassSuccesses: section.bypass_successes,
    probeIntervalMs: section.probe_interval_sec * 1_000,
    recoverySteps: [...section.recovery_steps],
    recoverySuccesses: section.recovery_successes,
    recoveryStepMs: section.recovery_step_sec * 1_000,
  };
  assertBreakerSettings(settings);
  return settings;
}

/**
 * Refuses settings under which a breaker could stick or never trip (case T08).
 *
 * @throws RangeError naming the setting and quoting its value
 */
export function assertBreakerSettings(settings: BreakerSettings): void {
  const { tripFailures, tripWindow, recoverySteps, latencyMs } = settings;
  for (const name of ['tripFailures', 'tripWindow', 'minRequests', 'bypassSuccesses', 'recoverySuccesses'] as const)
    demand(name, settings[name], Number.isSafeInteger(settings[name]) && settings[name] >= 1, 'a whole number from 1');
  for (const name of ['windowMs', 'probeIntervalMs', 'recoveryStepMs'] as const)
    demand(name, settings[name], Number.isFinite(settings[name]) && settings[name] > 0, 'milliseconds above 0');
  demand(
    'sustainedMs',
    settings.sustainedMs,
    settings.sustainedMs >= 0 && settings.sustainedMs < Infinity,
    '0 or more',
  );
  demand('latencyMs', latencyMs, latencyMs === null || (latencyMs > 0 && latencyMs < Infinity), 'above 0 or null');
  demand('errorRate', settings.errorRate, settings.errorRate > 0 && settings.errorRate <= 1, 'above 0, at most 1');
  demand('bypassShare', settings.bypassShare, isInnerShare(settings.bypassShare), 'between 0 and 1');
  demand('tripFailures', tripFailures, tripFailures <= tripWindow, `at most tripWindow (${tripWindow})`);
  const grows = recoverySteps.every((step, i) => isInnerShare(step) && step > (recoverySteps[i - 1] ?? 0));
  demand('recoverySteps', recoverySteps, recoverySteps.length > 0 && grows, 'growing shares between 0 and 1');
}

const isInnerShare = (value: number): boolean => value > 0 && value < 1;

function demand(name: keyof BreakerSettings, value: unknown, holds: boolean, rule: string): void {
  if (!holds) throw new RangeError(`breaker setting ${name} must be ${rule}; it is ${JSON.stringify(value)}`);
}
