import type { PublishedEvent } from '../../src/protocol/published-event';
import { writeSubscribers } from '../../src/protocol/subscriber-list';
import { FAN_OUT, type PublishInput } from '../../workflows/publish-messages';

/** An event as it was accepted. */
export function acceptedEvent(more: Partial<PublishedEvent> = {}): PublishedEvent {
  const attributes = { id: 'evt-1', source: '/shop', type: 'order.created' };
  return {
    topic: 'orders.created',
    attributes,
    payload: { order: 1 },
    identity: { key: attributes.id, by: 'id' },
    terms: {
      delivery_semantics: 'at_least_once',
      timeout_ms: 86_400_000,
      group: 'default',
      max_total_retries: 10,
      metadata: {},
    },
    ...more,
  };
}

/** The input of a publish to `count` subscribers `s-00000` … */
export function publishInput(count: number, more: Partial<PublishInput> = {}): PublishInput {
  const list = Array.from({ length: count }, (_, n) => ({
    id: `s-${String(n).padStart(5, '0')}`,
    agent: 'echo_agent',
  }));
  return {
    tenant: 'default',
    event: acceptedEvent(),
    subscribers: writeSubscribers(list),
    trace_id: '0af7651916cd43dd8448eb211c80319c',
    fingerprint: 'f',
    fan_out: FAN_OUT,
    ...more,
  };
}
