import type { InstanceHealth } from '../../protocol/shapes';

/** R14: failures in a row that make an instance unavailable, successes in a row that bring it back. */
export const FAILURES_TO_FAIL = 3;
export const SUCCESSES_TO_PASS = 2;

/** One probe's outcome; `reason` says what was wrong. */
export type ProbeResult = { ok: true } | { ok: false; reason: string };

/** What probing knows of one target. `streak` counts equal outcomes in a row. */
export interface HealthState {
  state: InstanceHealth;
  /** Since when it is passing or failing, ISO 8601; empty while unknown. */
  since: string;
  reason: string;
  streak: { ok: boolean; count: number };
}

export const UNKNOWN_HEALTH: HealthState = { state: 'unknown', since: '', reason: '', streak: { ok: true, count: 0 } };

/** The next state (R14). A target that was never judged passes with its first success and fails like any other. */
export function nextHealth(current: HealthState, result: ProbeResult, now: Date): HealthState {
  const count = current.streak.ok === result.ok ? current.streak.count + 1 : 1;
  const streak = { ok: result.ok, count };
  const since = now.toISOString();
  if (result.ok) {
    const enough = count >= (current.state === 'failing' ? SUCCESSES_TO_PASS : 1);
    return enough && current.state !== 'passing'
      ? { state: 'passing', since, reason: 'answered', streak }
      : { ...current, streak };
  }
  const reason = `${result.reason}, ${FAILURES_TO_FAIL} times in a row`;
  const failed = count >= FAILURES_TO_FAIL && current.state !== 'failing';
  return failed ? { state: 'failing', since, reason, streak } : { ...current, streak };
}
