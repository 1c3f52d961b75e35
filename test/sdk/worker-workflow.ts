/** Stands in for the `reach` workflow: one attempt at an agent worker, as the workflow makes it. */
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  proxyActivities,
  TimeoutFailure,
} from '@temporalio/workflow';
import { AGENT_ACTIVITY, type WorkerAnswer, type WorkerCall } from '../../src/protocol/worker-wire';

/** How an attempt ended, as the workflow sees it. */
export interface Ending {
  answer?: WorkerAnswer;
  kind?: string;
  type?: string | null;
  message?: string;
  nonRetryable?: boolean | null;
  nextRetryDelay?: unknown;
  details?: unknown[] | null;
  stack?: string | null;
}

export async function attempt(call: WorkerCall, taskQueue: string, startToCloseMs: number): Promise<Ending> {
  const activities = proxyActivities<Record<string, (call: WorkerCall) => Promise<WorkerAnswer>>>({
    taskQueue,
    startToCloseTimeout: startToCloseMs,
    scheduleToCloseTimeout: startToCloseMs + 5_000,
    heartbeatTimeout: '3s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: 1 },
  });
  try {
    return { answer: await activities[AGENT_ACTIVITY]!(call) };
  } catch (caught) {
    return ending(caught instanceof ActivityFailure ? caught.cause : caught);
  }
}

function ending(cause: unknown): Ending {
  if (cause instanceof ApplicationFailure) {
    const { type, message, nonRetryable, nextRetryDelay, details } = cause;
    return { kind: 'failure', type, message, nonRetryable, nextRetryDelay, details, stack: cause.failure?.stackTrace };
  }
  if (cause instanceof CancelledFailure) return { kind: 'cancelled' };
  if (cause instanceof TimeoutFailure)
    return { kind: 'timeout', message: cause.message, details: [cause.lastHeartbeatDetails] };
  return { kind: String(cause) };
}
