import type { AgentStatus, InstanceHealth, InstanceState } from '../../protocol/shapes';

/** Everything that decides whether an instance can really take work (R14). Times are ISO 8601. */
export interface StatusInputs {
  /** What the instance last said of itself; null for static addresses, which say nothing. */
  reported: { status: AgentStatus; since: string } | null;
  /** Since when it is known at all. */
  registeredAt: string;
  /** Calls it works on: the greater of what it reports and what we measure. */
  inFlight: number;
  /** Since when the measured count alone has been at the limit; null when it is not. */
  fullSince: string | null;
  maxConcurrency: number | null;
  health: { state: InstanceHealth; since: string; reason: string };
  /** Set while it is left alone for failing in a row. */
  ejected: { since: string; reason: string } | null;
  /** Set when the instance is no more. */
  gone: { cause: 'expired' | 'deregistered'; at: string; lastStatus: string } | null;
}

/** The status that routing goes by, why, and since when. */
export type EffectiveStatus = Pick<InstanceState, 'status' | 'status_reason' | 'since'>;

/**
 * Alive is not ready (R14). In this order: gone → expired; probing fails or ejected → unavailable; draining, as reported;
 * `in_flight ≥ max_concurrency` → busy, whatever was reported; else as reported; static addresses are ready.
 */
export function effectiveStatus({
  reported,
  registeredAt,
  inFlight,
  fullSince,
  maxConcurrency,
  health,
  ejected,
  gone,
}: StatusInputs): EffectiveStatus {
  if (gone !== null) {
    const cause = gone.cause === 'expired' ? 'its lease expired' : 'it deregistered';
    return { status: 'expired', status_reason: `${cause}; last reported ${gone.lastStatus}`, since: gone.at };
  }
  if (health.state === 'failing')
    return { status: 'unavailable', status_reason: `health check failing: ${health.reason}`, since: health.since };
  if (ejected !== null) return { status: 'unavailable', status_reason: ejected.reason, since: ejected.since };
  const since = reported?.since ?? registeredAt;
  if (reported?.status === 'draining')
    return { status: 'draining', status_reason: 'reported draining: finishes its work and takes nothing new', since };
  if (maxConcurrency !== null && inFlight >= maxConcurrency) {
    return {
      status: 'busy',
      status_reason: `${inFlight} in flight of at most ${maxConcurrency}`,
      since: fullSince ?? since,
    };
  }
  if (reported?.status === 'busy') return { status: 'busy', status_reason: 'reported busy', since };
  if (reported !== null) return { status: 'ready', status_reason: 'reported ready', since };
  return staticReady(health, registeredAt);
}

function staticReady(health: StatusInputs['health'], registeredAt: string): EffectiveStatus {
  if (health.state === 'passing')
    return { status: 'ready', status_reason: 'health check passing', since: health.since };
  return { status: 'ready', status_reason: 'static address, not probed', since: registeredAt };
}
