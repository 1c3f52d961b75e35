import { createHash } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, type Client, type WorkflowStartOptions } from '@temporalio/client';
import { canonicalJson, deliveryId, publishId, type EventId } from '../protocol/identity';
import { MAX_EVENT_BYTES } from '../protocol/limits';
import type { PublishedEvent, Subscriber } from '../protocol/published-event';
import { ReachError } from '../protocol/reach-error';
import type { Json, JsonObject } from '../protocol/shapes';
import { readSubscribers, writeSubscribers } from '../protocol/subscriber-list';
import type { SubscriptionView } from '../registry';
import type { EventLog } from '../telemetry/event-metrics';
import { decodeFirst } from '../telemetry/history';
import { FAN_OUT, PUBLISH_WORKFLOW, type PublishInput, type PublishMemo } from '../../workflows/publish-messages';
import { bounded, fromTemporal, unconfirmed } from './temporal-errors';

/** What the publisher works with. */
export interface EventPublisherOptions {
  client: Client;
  namespace: string;
  tenant: string;
  taskQueue: string;
  subscriptions: Pick<SubscriptionView, 'matching'>;
  log: Pick<EventLog, 'published'>;
}

/** How an event is published, besides what it says. `waitMs`: patience for its being handed out, 0 for none. */
export interface PublishCall {
  traceId: string;
  waitMs: number;
}

/** The answer to a publisher; for the same event always the same. */
export interface PublishReceipt {
  /** The event's own id. */
  event_id: string;
  /** How many subscriptions it goes to. */
  matched: number;
  /** One for each of them. */
  reach_ids: string[];
}

/**
 * Accepts events (R3): fixes who gets them and hands that to a durable `publish` workflow. The workflow's id comes from source
 * and event id, so of any number of posts of one event, at any number of gateways, one is the event; the others answer what
 * became of that one (R7), as long as its record is kept.
 */
export class EventPublisher {
  constructor(private readonly options: EventPublisherOptions) {}

  /**
   * Answers when every subscriber has its reach, and after `waitMs` at the latest: handing out goes on by itself.
   * @throws ReachError `idempotency_key_reused` when the source has used this id for another event; `payload_too_large`;
   *   `engine_unavailable`: it may have been accepted, and sending it again is safe
   */
  async publish(event: PublishedEvent, { traceId, waitMs }: PublishCall): Promise<PublishReceipt> {
    assertEventSize(event);
    const id = publishId(this.idOf(event));
    const digest = eventFingerprint(event);
    const input = this.inputOf(event, { digest, traceId });
    try {
      await bounded(this.options.client, () =>
        this.options.client.workflow.start(PUBLISH_WORKFLOW, this.startOptions(id, input)),
      );
    } catch (caught) {
      if (!(caught instanceof WorkflowExecutionAlreadyStartedError)) throw unclear(caught);
      return this.sameAgain(id, digest, waitMs);
    }
    this.options.log.published('accepted');
    await this.handedOut(id, waitMs);
    return this.receipt(input);
  }

  /** Until every subscriber has its reach, or the patience ends: whoever asks for a reach of the answer then finds it. */
  private async handedOut(id: string, waitMs: number): Promise<void> {
    if (waitMs <= 0) return;
    const { client } = this.options;
    // Accepted it is in any case.
    await bounded(client, () => client.workflow.getHandle(id).result(), waitMs).catch(() => undefined);
  }

  private inputOf(event: PublishedEvent, { digest, traceId }: { digest: string; traceId: string }): PublishInput {
    const { tenant, subscriptions } = this.options;
    const subscribers = subscriptions
      .matching(event.topic, event.attributes)
      .map(({ id, agent, ability, type }): Subscriber => ({
        id,
        ...(agent !== undefined && { agent }),
        ...(ability !== undefined && { ability }),
        ...(type !== undefined && { type }),
      }));
    return {
      tenant,
      event,
      subscribers: writeSubscribers(subscribers),
      trace_id: traceId,
      fingerprint: digest,
      fan_out: FAN_OUT,
    };
  }

  /** No time limit: an event waits for workers as long as it must. Its deliveries have their own deadlines. */
  private startOptions(workflowId: string, input: PublishInput) {
    const { topic, attributes } = input.event;
    const { count } = input.subscribers;
    const memo: PublishMemo = {
      fingerprint: input.fingerprint,
      topic,
      source: attributes.source,
      event_id: attributes.id,
      matched: count,
    };
    return {
      workflowId,
      taskQueue: this.options.taskQueue,
      args: [input],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      requestEagerStart: true,
      workflowTaskTimeout: 5_000,
      memo,
      staticSummary: `${topic} → ${count} ${count === 1 ? 'subscriber' : 'subscribers'}`.slice(0, 200),
    } satisfies WorkflowStartOptions;
  }

  /** The event that was accepted under this id, if it is the same. Whom it goes to was fixed then. */
  private async sameAgain(id: string, digest: string, waitMs: number): Promise<PublishReceipt> {
    const { client, namespace } = this.options;
    try {
      const description = await bounded(client, () => client.workflow.getHandle(id).describe());
      if ((description.memo as PublishMemo).fingerprint !== digest) throw idReused();
      const execution = { workflowId: id, runId: description.runId };
      const page = await bounded(client, () =>
        client.workflowService.getWorkflowExecutionHistory({ namespace, execution, maximumPageSize: 1 }),
      );
      const started = page.history?.events?.[0]?.workflowExecutionStartedEventAttributes;
      const input = decodeFirst<PublishInput>(started?.input);
      if (!input) throw new ReachError('internal', `The input of ${id} cannot be read`);
      this.options.log.published('repeated');
      if (description.status.name === 'RUNNING') await this.handedOut(id, waitMs);
      return this.receipt(input);
    } catch (caught) {
      throw fromTemporal(caught, 'read what became of the event');
    }
  }

  private receipt({ event, subscribers }: PublishInput): PublishReceipt {
    const reachIds = readSubscribers(subscribers).map(({ id }) => deliveryId(this.idOf(event), id));
    return { event_id: event.attributes.id, matched: subscribers.count, reach_ids: reachIds };
  }

  private idOf({ attributes, identity }: PublishedEvent): EventId {
    return { tenant: this.options.tenant, source: attributes.source, ...identity };
  }
}

/** Trace context is no part of an event, and a repeat under a key may have another id (R2). */
const NOT_IN_FINGERPRINT: ReadonlySet<string> = new Set(['id', 'traceparent', 'tracestate']);

/** SHA-256 (hex) of what an event says: the same source and id with another digest is another event. */
export function eventFingerprint({ topic, attributes, payload, terms }: PublishedEvent): string {
  const promised = { ...terms, timeout_ms: undefined };
  const told = Object.fromEntries(Object.entries(attributes).filter(([name]) => !NOT_IN_FINGERPRINT.has(name)));
  const content = { topic, attributes: told, payload, terms: promised as unknown as Json } satisfies JsonObject;
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}

function assertEventSize({ attributes, payload }: PublishedEvent): void {
  const bytes = Buffer.byteLength(JSON.stringify({ attributes, payload }));
  if (bytes <= MAX_EVENT_BYTES) return;
  const message = `must not be over ${MAX_EVENT_BYTES} bytes as compact JSON with its attributes; it has ${bytes}`;
  throw new ReachError('payload_too_large', `An event ${message}; publish a reference to what is larger`, {
    errors: [{ pointer: '/data', message }],
  });
}

function idReused(): ReachError {
  return new ReachError(
    'idempotency_key_reused',
    'This source has published another event under this id; give each event an id of its own',
  );
}

const unclear = (caught: unknown) =>
  unconfirmed(caught, {
    doing: 'publish the event',
    said: 'the event: it may have been accepted; publish it again with the same source and id',
  });
