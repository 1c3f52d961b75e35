import type { ErrorCode } from '../../protocol/error-codes';
import type { AdmissionMark, BreakerOutcome } from '../../protocol/reliability';

/**
 * Codes that speak against the agent (R28: timeouts and 5xx). Every other code is neutral: the caller's fault, the
 * platform's, or an answer that came but was malformed, which another attempt would not mend.
 */
const FAILURES: Partial<Record<ErrorCode, true>> = {
  agent_error: true,
  agent_timeout: true,
  agent_unavailable: true,
  agent_busy: true,
  worker_lost: true,
};

/**
 * How a breaker counts an attempt that ended with `code` (null: answered). A probe asks whether the agent is there, so
 * a refusal of its request is a good answer: neutral, it would be sent again and again.
 */
export function breakerOutcome(code: ErrorCode | null, mark: AdmissionMark | null): BreakerOutcome {
  if (code === null) return 'ok';
  if (FAILURES[code] === true) return 'failure';
  return mark === 'probe' && code === 'agent_rejected' ? 'ok' : 'neutral';
}
