import { randomUUID } from 'node:crypto';
import type { Api, Answer } from '../support/api';

/** A CloudEvent with an id of its own. */
export function eventOf(more: Record<string, unknown> = {}) {
  return {
    specversion: '1.0',
    id: `evt-${randomUUID()}`,
    source: '/shop',
    type: 'order.created',
    data: { order: 1 },
    ...more,
  };
}

export const CLOUD_EVENT = { 'content-type': 'application/cloudevents+json' };

/** Publishes a CloudEvent in structured mode. */
export function publish(api: Api, topic: string, event: object): Promise<Answer> {
  return api.raw('POST', `/v1/topics/${encodeURIComponent(topic)}/events`, JSON.stringify(event), {
    headers: CLOUD_EVENT,
  });
}

/** Puts a subscription; throws what the gateway says when it refuses. */
export async function subscribe(api: Api, id: string, body: object): Promise<Answer> {
  const answer = await api.put(`/v1/subscriptions/${id}`, body);
  if (answer.status >= 300) throw new Error(`subscribing ${id}: ${answer.text}`);
  return answer;
}

/** A topic of this test's own. */
export const topicOf = (name: string): string => `${name}.${randomUUID()}`;
