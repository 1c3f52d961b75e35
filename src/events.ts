/** Events (R3), built from one Config: who subscribes, how events are accepted, and how their deliveries are started. */
import { Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { ActivityDependencies } from '../activities/dependencies';
import { REACH_WORKFLOW } from '../workflows/messages';
import type { PublishEnd } from './callbacks';
import type { Config } from './config';
import { EventPublisher } from './gateway/event-publisher';
import { startOptions } from './gateway/reach-start';
import { SubscriptionService } from './gateway/subscription-service';
import { bounded, fromTemporal } from './gateway/temporal-errors';
import { DEFAULT_TERMS } from './protocol/event-envelope';
import { DEFAULT_TENANT, MAX_EVENT_BYTES } from './protocol/limits';
import { ENDS_SOURCE } from './protocol/platform-sources';
import type { JsonObject } from './protocol/shapes';
import { SubscriptionStore, SubscriptionView } from './registry';
import type { EventLog } from './telemetry/event-metrics';

/** What an event may take beside its data, bytes. */
const ATTRIBUTES_BYTES = 2_048;

/** What events are made of. */
export interface EventParts {
  view: SubscriptionView;
  subscriptions: SubscriptionService;
}

/** Subscriptions as this process follows them; {@link EventParts.view} is to be started and stopped. */
export function createSubscriptions(
  { registry }: Pick<Config, 'registry'>,
  base: ConstructorParameters<typeof SubscriptionStore>[0] & {
    logger: ConstructorParameters<typeof SubscriptionView>[0]['logger'];
  },
): EventParts {
  const view = new SubscriptionView({ ...base, refreshIntervalMs: registry.refresh_interval });
  return { view, subscriptions: new SubscriptionService(new SubscriptionStore(base), view) };
}

/** Accepts events by what `view` knows. */
export function createPublisher(
  connection: NativeConnection,
  { temporal: { namespace, task_queue: taskQueue } }: Pick<Config, 'temporal'>,
  { view, log }: { view: SubscriptionView; log: EventLog },
): EventPublisher {
  const client = new Client({ connection, namespace });
  return new EventPublisher({ client, namespace, tenant: DEFAULT_TENANT, taskQueue, subscriptions: view, log });
}

/** Tells how a reach ended to a topic (`reply_to`). One too large for an event is told without its output. */
export function endPublisher(publisher: EventPublisher): PublishEnd {
  return async ({ id, topic, type, data }) => {
    const event = {
      topic,
      attributes: { id, source: ENDS_SOURCE, type },
      payload: fitting(data),
      identity: { key: id, by: 'id' as const },
      terms: DEFAULT_TERMS,
    };
    const traceId = typeof data.trace_id === 'string' ? data.trace_id : '';
    await publisher.publish(event, { traceId, waitMs: 0 });
  };
}

function fitting(view: Record<string, unknown>): JsonObject {
  if (Buffer.byteLength(JSON.stringify(view)) <= MAX_EVENT_BYTES - ATTRIBUTES_BYTES) return view as JsonObject;
  return { ...view, output: undefined, answer: undefined, output_omitted: true } as unknown as JsonObject;
}

/** {@link ActivityDependencies.startReach} over one connection: as the gateway starts reaches, for nobody who waits. */
export function createReachStarter(
  connection: NativeConnection,
  { temporal: { namespace, task_queue: taskQueue } }: Pick<Config, 'temporal'>,
): ActivityDependencies['startReach'] {
  const client = new Client({ connection, namespace });
  return async (plan, traceId) => {
    const options = startOptions(plan, { tenant: DEFAULT_TENANT, taskQueue, traceId, callerWaits: false });
    try {
      await bounded(client, () =>
        client.workflow.start(REACH_WORKFLOW, { ...options, workflowIdConflictPolicy: 'FAIL' }),
      );
      return true;
    } catch (caught) {
      if (caught instanceof WorkflowExecutionAlreadyStartedError) return false;
      throw fromTemporal(caught, 'start the delivery of an event');
    }
  };
}
