import { ApplicationFailureCategory, RetryState, TimeoutType } from '@temporalio/common';
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  isCancellation,
  TimeoutFailure,
} from '@temporalio/workflow';
import { isErrorCode, type ErrorCode } from '../src/protocol/error-codes';
import { ReachError } from '../src/protocol/reach-error';
import type { AttemptRecord } from '../src/protocol/shapes';
import type { WorkerFailureDetail } from '../src/protocol/worker-wire';
import type { InvokeFailure, ReachFailure } from './messages';

/** A failure with a code and nothing else known. */
export function failed(code: ErrorCode, detail: string, received: InvokeFailure['received'] = 'no'): InvokeFailure {
  return { kind: 'failed', problem: new ReachError(code, detail).toProblem(), received, attempts: [] };
}

/** Who runs the activity that failed: the platform's worker for push agents, the agent's own for those that pull. */
export type RunBy = 'platform' | 'agent';

/**
 * Reads what a failed activity says, whether the platform threw it (details), the server did (timeouts) or an
 * agent's SDK did (type). Cancellation is passed on.
 */
export function failureOf(caught: unknown, runBy: RunBy = 'platform'): InvokeFailure {
  if (isCancellation(caught)) throw caught;
  const cause = caught instanceof ActivityFailure ? caught.cause : caught;
  if (cause instanceof ApplicationFailure) return fromApplication(cause);
  if (cause instanceof TimeoutFailure) return runBy === 'agent' ? fromAgentTimeout(cause) : fromPlatformTimeout(cause);
  return failed('internal', 'The attempt failed in a way that is not known', 'unknown');
}

/** The attempts that a cancelled activity made, the stopped one included. */
export function attemptsOfCancelled(caught: unknown): AttemptRecord[] {
  const cause = caught instanceof ActivityFailure ? caught.cause : caught;
  if (!(cause instanceof CancelledFailure)) return [];
  return (cause.details?.[0] as { attempts?: AttemptRecord[] } | undefined)?.attempts ?? [];
}

function fromApplication(cause: ApplicationFailure): InvokeFailure {
  const detail = cause.details?.[0] as InvokeFailure | (WorkerFailureDetail & { kind?: never }) | undefined;
  if (detail?.kind === 'failed') return detail;
  // A pull agent's SDK fails with the code as type; anything else that an activity throws is the agent's error.
  const failure = failed(isErrorCode(cause.type) ? cause.type : 'agent_error', cause.message, 'yes');
  if (detail?.instance) failure.instance = detail.instance;
  if (detail?.retry_after_ms !== undefined) failure.problem.retry_after_ms = detail.retry_after_ms;
  return failure;
}

/** The platform's own activity: the server has retried it as often as it may, or the reach's time is over. */
function fromPlatformTimeout(cause: TimeoutFailure): InvokeFailure {
  const attempts = (cause.lastHeartbeatDetails as { attempts?: AttemptRecord[] } | undefined)?.attempts ?? [];
  const failure =
    cause.timeoutType === TimeoutType.HEARTBEAT
      ? failed('worker_lost', 'The worker was lost in the middle of the attempt', 'unknown')
      : failed(
          'deadline_exceeded',
          'The time of the reach ended while the agent was being called; it may have done the work',
          'unknown',
        );
  return { ...failure, attempts };
}

/** True when the server ended an activity because the time of the reach was over, whatever it was doing then. */
export function endedByServer(caught: unknown): boolean {
  const cause = caught instanceof ActivityFailure ? caught.cause : caught;
  return cause instanceof TimeoutFailure && cause.timeoutType !== TimeoutType.HEARTBEAT;
}

/** An agent's own worker: its first heartbeat, sent at once, proves that the call arrived. */
function fromAgentTimeout(cause: TimeoutFailure): InvokeFailure {
  const seen = cause.lastHeartbeatDetails as WorkerFailureDetail | undefined;
  if (cause.timeoutType === TimeoutType.SCHEDULE_TO_START) {
    return failed('agent_unavailable', 'No worker of the agent took the task in time', 'no');
  }
  const received = seen ? 'yes' : 'unknown';
  const failure =
    cause.timeoutType === TimeoutType.HEARTBEAT
      ? failed('agent_unavailable', 'The agent was lost in the middle of the attempt', received)
      : failed('agent_timeout', 'The agent did not answer in time; it may still have done the work', received);
  if (cause.timeoutType === TimeoutType.HEARTBEAT) failure.lost = true;
  return seen ? { ...failure, instance: seen.instance } : failure;
}

/**
 * How a reach that is given up names a lost worker, whoever ran it: `worker_lost`, which nobody is advised to send again.
 * While there is another agent to ask it counts as `agent_unavailable`.
 */
export function asGivenUp(failure: InvokeFailure): InvokeFailure {
  if (!failure.lost || failure.problem.code !== 'agent_unavailable') return failure;
  const lost = failed(
    'worker_lost',
    'The worker of the agent was lost in the middle of the attempt, as often as it may be tried',
  );
  return { ...failure, problem: lost.problem };
}

/** True when an activity was retried until its time was over: its last failure is then only what kept it from succeeding. */
export function ranOutOfTime(caught: unknown): boolean {
  return caught instanceof ActivityFailure && caught.retryState === RetryState.TIMEOUT;
}

/** The failure with which a reach ends: the coded ApplicationFailure that dead letters are made of. */
export function reachFailure(failure: ReachFailure): ApplicationFailure {
  const { code, detail } = failure.problem;
  const ended = ApplicationFailure.create({
    type: code,
    message: detail,
    nonRetryable: true,
    details: [failure],
    category: ApplicationFailureCategory.BENIGN,
  });
  // Where in our code a reach gave up says nothing about why; in the Web UI it would hide the message.
  ended.stack = '';
  return ended;
}

/** Codes of failures without an answer: the agent may have done the work. */
const UNANSWERED: ReadonlySet<ErrorCode> = new Set(['agent_timeout', 'agent_unavailable', 'worker_lost']);

/** The terminal status that goes with a failure: `outcome_unknown` when nobody can tell and it may not be sent again. */
export function terminalStatus(failure: InvokeFailure, repeatable: boolean): ReachFailure['status'] {
  const { code } = failure.problem;
  if (code === 'deadline_exceeded') return 'expired';
  return UNANSWERED.has(code) && failure.received !== 'no' && !repeatable ? 'outcome_unknown' : 'dead_lettered';
}
