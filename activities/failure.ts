import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ReachError } from '../src/protocol/reach-error';
import type { InvokeFailure } from '../workflows/messages';
import type { AttemptRecord } from '../src/protocol/shapes';

/** A caught error as the failure value that the workflow reads. */
export function invokeFailure(error: ReachError, attempts: AttemptRecord[]): InvokeFailure {
  return { kind: 'failed', problem: error.toProblem(), received: error.options.received ?? 'no', attempts };
}

/** Throws-ready form: `type` is the code, the details carry the whole failure; the server retries it if `retryable`. */
export function asFailure(
  error: ReachError,
  retryable: boolean,
  more: { attempts?: AttemptRecord[]; delayMs?: number } = {},
): ApplicationFailure {
  return ApplicationFailure.create({
    type: error.code,
    message: error.message,
    nonRetryable: !retryable,
    // An agent that fails is no fault of the worker: the SDK neither warns nor counts it as one.
    category: ApplicationFailureCategory.BENIGN,
    details: [invokeFailure(error, more.attempts ?? [])],
    ...(more.delayMs !== undefined && { nextRetryDelay: more.delayMs }),
  });
}
