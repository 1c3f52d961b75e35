import type { ReachError } from '../protocol/reach-error';
import type { Diagnosis } from '../protocol/shapes';
import type { AlertInput, AlertSink } from './alerts';

/** The same is told again after this long, ms. */
const WINDOW_MS = 900_000;

/** What callers can mend themselves is worth knowing; what leaves a known ability without an agent is worth looking at. */
const CALLERS: ReadonlySet<Diagnosis['reason']> = new Set([
  'name_mismatch',
  'agent_unknown',
  'message_type_not_accepted',
  'version_mismatch',
  'payload_schema_mismatch',
  'delegation_loop',
  'off_topic',
  'ambiguous',
]);

/** The part of a routing log that tells of requests that nobody could take. */
interface Refusing {
  refused(error: ReachError): void;
}

/** The same log, which raises an alert for each refusal as well (R22): one of its own, distinct from failures of delivery. */
export function alertingOnRefusals<Log extends Refusing>(log: Log, alerts: AlertSink): Log {
  const refused: Log['refused'] = (error) => {
    log.refused(error);
    const { diagnosis } = error;
    if (diagnosis) void alerts.raise(noCandidateAlert(error.code, diagnosis));
  };
  return { ...log, refused };
}

/**
 * The alert. Its key names the reason and the agent nearest to taking the call; a name that there is none of is no part of
 * it, or every typing error would be an alert of its own.
 */
export function noCandidateAlert(code: ReachError['code'], diagnosis: Diagnosis): AlertInput {
  const { reason, message, advice, causes = [], agents = [] } = diagnosis;
  const [nearest] = agents;
  const key = nearest ? `${reason}/${nearest.agent_name}` : reason;
  return {
    kind: 'no_candidate',
    key,
    severity: CALLERS.has(reason) ? 'info' : 'warning',
    message: `no agent could be chosen: ${message}${advice ? `. What to do: ${advice}` : ''}`,
    details: {
      code,
      reason,
      causes: causes.map(({ cause, count }) => ({ cause, count })),
      agents: agents.map(({ agent_name, agent_version, status }) => ({ agent_name, agent_version, status })),
    },
    windowMs: WINDOW_MS,
  };
}
