import { ActivityFailure, ApplicationFailure, isCancellation, proxyActivities, upsertMemo } from '@temporalio/workflow';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { DeliverCallbackInput, DeliveryActivities, DeliveryDone, DeliveryFailure } from './delivery-messages';

/** What an attempt needs beside its request: the reach's end may still be on its way, and is read from Temporal, ms. */
const READING_MS = 20_000;
/** For attempts that the shutdown of a worker cut short. */
const SPARE_ATTEMPTS = 3;

/**
 * Tells the end of one run of a reach to one receiver (R5): one activity, which the server retries on the schedule of its
 * input, so that hours of waiting cost no events. Fails when it is given up: for a person to see and to redrive.
 */
export async function deliverCallback(input: DeliverCallbackInput): Promise<DeliveryDone> {
  const { delays_ms: delaysMs, timeout_ms: timeoutMs } = input;
  const { deliver } = proxyActivities<DeliveryActivities>({
    taskQueue: input.task_queue,
    startToCloseTimeout: timeoutMs + READING_MS,
    scheduleToCloseTimeout: input.max_age_ms,
    // The activity says when the next attempt is due; these count for one that was lost with its worker.
    retry: {
      initialInterval: Math.max(1, delaysMs[0] ?? 1),
      maximumInterval: Math.max(1, ...delaysMs),
      maximumAttempts: delaysMs.length + 1 + SPARE_ATTEMPTS,
    },
  });
  try {
    const done = await deliver(input);
    upsertMemo({ outcome: done });
    return done;
  } catch (caught) {
    if (isCancellation(caught)) throw caught;
    const failure = failureOf(caught, delaysMs.length + 1);
    upsertMemo({ outcome: failure });
    throw undeliverable(failure);
  }
}

/** What the last attempt said; one that was lost with its worker, or cut short by the maximum age, says nothing. */
function failureOf(caught: unknown, most: number): DeliveryFailure {
  for (let cause = caught; cause instanceof Error; cause = cause.cause) {
    const detail =
      cause instanceof ApplicationFailure ? (cause.details?.[0] as DeliveryFailure | undefined) : undefined;
    if (detail?.message) return detail;
  }
  const why = caught instanceof ActivityFailure ? caught.cause?.message : undefined;
  return { attempts: most, message: `No attempt was brought to its end: ${why ?? 'the worker was lost'}` };
}

function undeliverable(failure: DeliveryFailure): ApplicationFailure {
  const ended = ApplicationFailure.create({
    type: 'undeliverable',
    message: failure.message,
    nonRetryable: true,
    details: [failure],
    category: ApplicationFailureCategory.BENIGN,
  });
  // Where in our code it gave up says nothing about why; in the Web UI it would hide the message.
  ended.stack = '';
  return ended;
}
