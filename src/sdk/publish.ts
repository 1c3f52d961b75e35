/** From what a program wants to tell to a CloudEvent on the wire. */
import { v7 as uuidv7 } from 'uuid';
import type { Json } from '../protocol/shapes';
import type { RequestOptions } from './client-types';
import type { TransportCall } from './transport';

/** What an event says besides its data. */
export interface PublishOptions extends RequestOptions {
  /** The event's id, unique for its source: the same one again is the same event, delivered once. Default: a new one. */
  id?: string;
  /** URI reference of whoever it comes from. Default `agent-reach-client`. */
  source?: string;
  /** Default `event`. */
  type?: string;
  subject?: string;
  /** When it happened, RFC 3339. */
  time?: string;
  /** Further CloudEvents attributes; names of lower-case letters and digits. */
  extensions?: Record<string, string | number | boolean>;
  /** W3C trace context that the deliveries belong to. */
  traceparent?: string;
}

/** The answer to a published event. */
export interface Published {
  event_id: string;
  /** How many subscriptions it goes to. */
  matched: number;
  /** One reach for each of them. */
  reach_ids: string[];
}

/** A published event is answered once its deliveries have begun, within some 2 s, ms. */
const REQUEST_TIMEOUT_MS = 20_000;

/** The request that publishes `data` to a topic. It carries its id, so a repeat is the same event. */
export function publishCall(topic: string, data: Json, options: PublishOptions): TransportCall {
  const { id = uuidv7(), source = 'agent-reach-client', type = 'event', signal, traceparent, ...more } = options;
  const { subject, time, extensions } = more;
  const event = { ...extensions, specversion: '1.0', id, source, type, subject, time, data };
  return {
    method: 'POST',
    path: `/v1/topics/${encodeURIComponent(topic)}/events`,
    body: event,
    headers: { 'content-type': 'application/cloudevents+json', ...(traceparent !== undefined && { traceparent }) },
    timeoutMs: REQUEST_TIMEOUT_MS,
    retry: 'always',
    ...(signal && { signal }),
  };
}
