/** Events in the one envelope (R2, R3): `mode: event` with a topic in the place of a target. CloudEvents is a mapping of it. */
import { z } from 'zod';
import { envelopeSchema } from './envelope';
import { parseWithHeaders, type EnvelopeHeaders } from './envelope-parsing';
import { ATTRIBUTE_NAME, type EventAttributes } from './event-filter';
import { DEFAULT_ASYNC_TIMEOUT_MS, DEFAULT_MAX_TOTAL_RETRIES } from './limits';
import type { DeliveryTerms, PublishedEvent } from './published-event';
import type { JsonObject } from './shapes';
import { topicSchema } from './topics';

const fields = envelopeSchema.shape;

/** The envelope of an event, as a publisher writes it to `POST /v1/reaches`. */
export const eventEnvelopeSchema = z
  .strictObject({
    mode: z.literal('event'),
    topic: topicSchema,
    payload: fields.payload.meta({ description: "The event's data, a JSON object." }),
    type: z
      .string()
      .min(1)
      .max(255)
      .default('event')
      .meta({ description: 'Type of the event.', example: 'order.created' }),
    delivery_semantics: fields.delivery_semantics,
    idempotency_key: fields.idempotency_key,
    timeout_ms: fields.timeout_ms,
    group: fields.group,
    source_agent: fields.source_agent,
    message_id: fields.message_id,
    context_id: fields.context_id,
    max_total_retries: fields.max_total_retries,
    metadata: fields.metadata,
  })
  .meta({ id: 'EventEnvelope' });

/** The envelope of an event as a caller may write it. */
export type EventEnvelopeDraft = z.input<typeof eventEnvelopeSchema>;

/** What each delivery of a CloudEvent is promised; as an envelope's defaults. */
export const DEFAULT_TERMS: DeliveryTerms = {
  delivery_semantics: 'at_least_once',
  timeout_ms: DEFAULT_ASYNC_TIMEOUT_MS,
  group: 'default',
  max_total_retries: DEFAULT_MAX_TOTAL_RETRIES,
  metadata: {},
};

/** Names that CloudEvents gives a meaning of their own, which metadata cannot have. */
const RESERVED: ReadonlySet<string> = new Set(['id', 'source', 'type', 'specversion', 'data', 'datacontenttype']);

/** Whether a body means to publish rather than to reach somebody. */
export function isEventEnvelope(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'mode' in body && body.mode === 'event';
}

/**
 * The event in an envelope. Message id, source and type become CloudEvents attributes, as does metadata whose name can be
 * one's.
 * @throws ReachError `invalid_request` with every finding
 */
export function parseEventEnvelope(
  body: unknown,
  headers: EnvelopeHeaders,
  sender: { principal: string; newMessageId: () => string },
): PublishedEvent {
  const envelope = parseWithHeaders(eventEnvelopeSchema, body, headers);
  const id = envelope.message_id ?? sender.newMessageId();
  const attributes: EventAttributes = {
    ...extensions(envelope.metadata),
    id,
    source: envelope.source_agent ?? sender.principal,
    type: envelope.type,
  };
  const { idempotency_key: key, delivery_semantics, group, max_total_retries, metadata, context_id } = envelope;
  const terms: DeliveryTerms = {
    delivery_semantics,
    timeout_ms: envelope.timeout_ms ?? DEFAULT_TERMS.timeout_ms,
    group,
    max_total_retries,
    metadata,
    ...(context_id !== undefined && { context_id }),
  };
  const identity = key === undefined ? ({ key: id, by: 'id' } as const) : ({ key, by: 'key' } as const);
  return { topic: envelope.topic, attributes, payload: envelope.payload as JsonObject, identity, terms };
}

function extensions(metadata: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).filter(([name]) => ATTRIBUTE_NAME.test(name) && !RESERVED.has(name)),
  );
}
