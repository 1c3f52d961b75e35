import type { Diagnosis } from '../protocol/shapes';
import type { AgentVersion } from '../protocol/world';
import { ReachError } from '../protocol/reach-error';
import { adviceFor } from './advice';
import { phrase } from './diagnosis';
import { readinessOf } from './readiness';

/** Codes of refusals after the choice, when the chosen agent was about to be called, and what they are diagnosed as. */
const REASONS = {
  overloaded: { reason: 'overloaded', cause: 'overloaded', by: 'its bulkhead' },
  circuit_open: { reason: 'breaker_open', cause: 'breaker_open', by: 'its breaker' },
  no_ready_instance: { reason: 'not_ready', cause: 'not_ready', by: undefined },
} as const satisfies Partial<Record<ReachError['code'], { reason: Diagnosis['reason']; cause: string; by?: string }>>;

/**
 * What kept a call from the agent that was chosen for it, with a diagnosis like those of routing (R22). Anything else that
 * was caught, and what has a diagnosis already, comes back as it is.
 */
export function diagnosedAtCall(caught: unknown, agent: AgentVersion): unknown {
  if (!(caught instanceof ReachError) || caught.diagnosis || !Object.hasOwn(REASONS, caught.code)) return caught;
  const { reason, cause, by } = REASONS[caught.code as keyof typeof REASONS];
  const { retryAfterMs } = caught.options;
  const ready = readinessOf(agent);
  const nearest = cause === 'not_ready' ? ready.cause : cause;
  const witness = by ?? ready.by;
  const wait = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
  const advice = adviceFor(nearest);
  const diagnosis: Diagnosis = {
    reason,
    message: caught.message,
    ...(advice !== undefined && { advice }),
    ...wait,
    causes: [{ cause: nearest, count: 1, message: phrase(nearest, 1) }],
    agents: [
      {
        agent_name: agent.name,
        agent_version: agent.version,
        status: ready.status,
        since: ready.since,
        detail: cause === 'not_ready' ? ready.detail : withoutAdvice(caught.message),
        cause: nearest,
        ...(witness && { by: witness }),
        ...wait,
      },
    ],
  };
  return new ReachError(caught.code, caught.message, { ...caught.options, diagnosis });
}

/** What is so, without what to do about it: `advice` and `retry_after_ms` say that. */
function withoutAdvice(message: string): string {
  return message.replace(/[.;] try again\b.*$/isu, '');
}
