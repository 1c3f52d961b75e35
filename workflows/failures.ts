import { RetryState, TimeoutType } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import { ERROR_TABLE, isErrorCode, type ErrorCode } from '../src/protocol/error-codes';
import { ReachError } from '../src/protocol/reach-error';
import type { AttemptRecord } from '../src/protocol/shapes';
import type { WorkerFailureDetail } from '../src/protocol/worker-wire';
import type { InvokeFailure, ReachFailure } from './messages';

/** A failure with a code and nothing else known. */
export function failed(code: ErrorCode, detail: string, received: InvokeFailure['received'] = 'no'): InvokeFailure {
  return { kind: 'failed', problem: new ReachError(code, detail).toProblem(), received, attempts: [] };
}

/**
 * Reads what a failed activity says, whether the platform threw it (details), the server did (timeouts) or an
 * agent's SDK did (type). Cancellation is passed on.
 */
export function failureOf(caught: unknown): InvokeFailure {
  if (isCancellation(caught)) throw caught;
  const cause = caught instanceof ActivityFailure ? caught.cause : caught;
  if (cause instanceof ApplicationFailure) return fromApplication(cause);
  if (cause instanceof TimeoutFailure) return fromTimeout(cause, caught);
  return failed('internal', 'The attempt failed in a way that is not known', 'unknown');
}

function fromApplication(cause: ApplicationFailure): InvokeFailure {
  const detail = cause.details?.[0] as InvokeFailure | (WorkerFailureDetail & { kind?: never }) | undefined;
  if (detail?.kind === 'failed') return detail;
  // A pull agent's SDK fails with the code as type; anything else that an activity throws is the agent's error.
  const failure = failed(isErrorCode(cause.type) ? cause.type : 'agent_error', cause.message, 'yes');
  if (detail?.instance) failure.instance = detail.instance;
  if (typeof cause.nextRetryDelay === 'number') failure.problem.retry_after_ms = cause.nextRetryDelay;
  return failure;
}

function fromTimeout(cause: TimeoutFailure, caught: unknown): InvokeFailure {
  const known = (cause.lastHeartbeatDetails as { attempts?: AttemptRecord[] } | undefined)?.attempts ?? [];
  if (cause.timeoutType === TimeoutType.SCHEDULE_TO_START) {
    return failed('agent_unavailable', 'No worker of the agent took the task in time', 'no');
  }
  if (cause.timeoutType === TimeoutType.HEARTBEAT) {
    return { ...failed('worker_lost', 'The worker was lost in the middle of the attempt', 'unknown'), attempts: known };
  }
  const outOfTime = caught instanceof ActivityFailure && caught.retryState === RetryState.TIMEOUT && known.length > 0;
  const code = outOfTime ? 'deadline_exceeded' : 'agent_timeout';
  return { ...failed(code, 'The agent did not answer in time; it may still have done the work', 'unknown'), attempts: known };
}

/** The failure with which a reach ends: the coded ApplicationFailure that dead letters are made of. */
export function reachFailure(failure: ReachFailure): ApplicationFailure {
  const { code, detail } = failure.problem;
  return ApplicationFailure.create({ type: code, message: detail, nonRetryable: true, details: [failure] });
}

/** The terminal status that goes with a failure: `outcome_unknown` when nobody can tell and it may not be sent again. */
export function terminalStatus(failure: InvokeFailure, repeatable: boolean): ReachFailure['status'] {
  if (failure.problem.code === 'deadline_exceeded') return 'expired';
  const unanswered = failure.received === 'unknown' && ERROR_TABLE[failure.problem.code].class !== 'deterministic';
  return unanswered && !repeatable ? 'outcome_unknown' : 'dead_lettered';
}
