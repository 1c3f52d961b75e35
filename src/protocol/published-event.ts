/** An event on its way from its publisher to its subscribers (R3), as plain types: workflow code may import it. */
import type { EventAttributes } from './event-filter';
import type { Lineage } from './lineage';
import type { DeliverySemantics, JsonObject } from './shapes';

/** What holds for each delivery, as the publisher's envelope said it. */
export interface DeliveryTerms {
  delivery_semantics: DeliverySemantics;
  timeout_ms: number;
  group: string;
  max_total_retries: number;
  context_id?: string;
  metadata: Record<string, string>;
}

/** An event that was accepted. */
export interface PublishedEvent {
  topic: string;
  /** CloudEvents attributes, extensions included; values as text. */
  attributes: EventAttributes;
  /** The event's data: a JSON object as it is; other JSON and text as `{data}`, bytes as `{data_base64}`. */
  payload: JsonObject;
  /** What makes it the same event again for its source: the caller's idempotency key where there is one, else its id. */
  identity: { key: string; by: 'id' | 'key' };
  terms: DeliveryTerms;
  /** The agent that published it from a call; else the attributes' `source` is who sends. */
  sender?: string;
  /** The call that it was published from (R10). */
  ancestry?: Omit<Lineage, 'tree'>;
}

/** Whom a subscription names; fixed when the event is accepted. */
export interface Subscriber {
  id: string;
  agent?: string;
  ability?: string;
  type?: string;
}
