/** What people read about breakers. */
import type { BreakerRecord } from '../../policy/breaker';
import { utcTime } from '../../protocol/clock-time';
import { ReachError } from '../../protocol/reach-error';
import type { BreakerGate, BreakerKey, BreakerOverride } from '../../protocol/reliability';

/** `open since 12:03:01 UTC: 14 of 20 calls failed`; empty for a closed breaker. */
export function describeRecord({ state, since, reason }: BreakerRecord): string {
  return state === 'closed' ? '' : `${state} since ${utcTime(since)}${reason && `: ${reason}`}`;
}

/** `held open by ops since 12:03:01 UTC until 12:30:00 UTC: maintenance`; an end on another day has its date. */
export function describeOverride({ state, by, set_at, expires_at, reason }: BreakerOverride): string {
  const end = expires_at === null ? '' : ` until ${endOf(expires_at, set_at)}`;
  return `held ${state} by ${by} since ${utcTime(set_at)}${end}: ${reason}`;
}

/** What a gate says while an operator holds its breaker. */
export function heldGate(
  override: BreakerOverride,
): Pick<BreakerGate, 'detail' | 'state' | 'since' | 'by' | 'heldUntil'> {
  const { state, by, set_at: since, expires_at: heldUntil } = override;
  return { detail: describeOverride(override), state, since, by, heldUntil };
}

/** @returns the refusal of a call that a breaker does not let through; nothing was sent. */
export function circuitOpen(key: BreakerKey, detail: string, retryAfterMs: number): ReachError {
  const { agentName, agentVersion, ability } = key;
  return new ReachError(
    'circuit_open',
    `The circuit breaker of ${ability} at ${agentName}#${agentVersion} did not let the call through (${detail}); try again later, or let another agent do it`,
    { received: 'no', retryAfterMs, extra: { agent_name: agentName, agent_version: agentVersion } },
  );
}

function endOf(end: string, since: string): string {
  return end.slice(0, 10) === since.slice(0, 10) ? utcTime(end) : `${end.slice(0, 10)} ${utcTime(end)}`;
}
