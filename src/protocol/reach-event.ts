/** The lifecycle events of a reach as `GET /v1/reaches/{id}/events` streams them. Plain types, but for the names of ends. */

/** What happened. */
export type ReachEventName =
  | 'accepted'
  | 'routed'
  | 'agent_accepted'
  | 'attempt_failed'
  | 'completed'
  | 'dead_lettered'
  | 'expired'
  | 'outcome_unknown'
  | 'cancelled';

/** Events with which a stream ends. */
export const REACH_ENDS: ReadonlySet<string> = new Set<ReachEventName>([
  'completed',
  'dead_lettered',
  'expired',
  'outcome_unknown',
  'cancelled',
]);
