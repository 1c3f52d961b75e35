import { continueAsNew, proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type {
  DeliverOutput,
  DeliveryTrouble,
  PublishActivities,
  PublishInput,
  PublishOutput,
  PublishProgress,
} from './publish-messages';

/** Of those in trouble so many are named; the rest is counted. */
const MAX_NAMED = 100;
/** A run with more events than this goes on as a new one, whatever it has done. */
const MAX_EVENTS = 500;

/**
 * Hands one event to its subscribers: a reach each, started batch by batch. Local activities, because their input stays
 * out of the history: the event would else be written down again with every batch.
 */
const { deliverEvent } = proxyLocalActivities<PublishActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '10s' },
});

const NOTHING: PublishProgress = {
  done: 0,
  started: 0,
  unrouted: [],
  unrouted_count: 0,
  failed: [],
  failed_count: 0,
};

/** One published event (R3). Completes when every subscriber has its reach; what becomes of the reaches is their own affair. */
export async function publish(input: PublishInput): Promise<PublishOutput> {
  const { tenant, event, subscribers, trace_id, fan_out } = input;
  let progress = input.progress ?? NOTHING;
  for (let batches = 0; progress.done < subscribers.count; batches += 1) {
    if (batches >= fan_out.batches_per_run || workflowInfo().historyLength > MAX_EVENTS)
      await continueAsNew<typeof publish>({ ...input, progress });
    const count = Math.min(fan_out.batch, subscribers.count - progress.done);
    const came = await deliverEvent({ tenant, event, subscribers, from: progress.done, count, trace_id });
    progress = added(progress, count, came);
  }
  const { done: matched, ...told } = progress;
  return { matched, ...told };
}

function added(before: PublishProgress, count: number, came: DeliverOutput): PublishProgress {
  return {
    done: before.done + count,
    started: before.started + came.started,
    unrouted: named(before.unrouted, came.unrouted),
    unrouted_count: before.unrouted_count + came.unrouted.length,
    failed: named(before.failed, came.failed),
    failed_count: before.failed_count + came.failed.length,
  };
}

function named(before: DeliveryTrouble[], more: DeliveryTrouble[]): DeliveryTrouble[] {
  return [...before, ...more].slice(0, MAX_NAMED);
}
