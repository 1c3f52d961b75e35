import { isEventEnvelope, parseEventEnvelope } from './event-envelope';
import { deliveryId, publishId, reachIdOfMessage } from './identity';
import { ReachError } from './reach-error';

const sender = { principal: 'local', newMessageId: () => 'new-id' };
const parse = (more: object = {}, headers = {}) =>
  parseEventEnvelope({ mode: 'event', topic: 'orders.created', payload: { n: 1 }, ...more }, headers, sender);

function pointersOf(more: object, headers = {}): string[] {
  try {
    parse(more, headers);
  } catch (caught) {
    if (caught instanceof ReachError) return (caught.options.errors ?? []).map(({ pointer }) => pointer);
    throw caught;
  }
  return [];
}

it('is told by its mode', () => {
  expect(['event', 'sync', undefined].map((mode) => isEventEnvelope({ mode }))).toEqual([true, false, false]);
  expect([null, 'event', ['event'], {}].map(isEventEnvelope)).toEqual([false, false, false, false]);
});

it('fills what the publisher leaves out', () => {
  expect(parse()).toEqual({
    topic: 'orders.created',
    attributes: { id: 'new-id', source: 'local', type: 'event' },
    payload: { n: 1 },
    identity: { key: 'new-id', by: 'id' },
    terms: {
      delivery_semantics: 'at_least_once',
      timeout_ms: 86_400_000,
      group: 'default',
      max_total_retries: 10,
      metadata: {},
    },
  });
});

it('makes attributes of metadata that can be one, and never of those with a meaning of their own', () => {
  const metadata = { region: 'eu', 'x-y': 'no', Id: 'no', id: 'no', source: 'no', type: 'no', data: 'no', time: 't' };
  const { attributes, terms } = parse({ metadata, message_id: 'm', source_agent: 'shop', type: 'order.paid' });
  expect(attributes).toEqual({ region: 'eu', time: 't', id: 'm', source: 'shop', type: 'order.paid' });
  expect(terms.metadata).toEqual(metadata);
});

it('is the same event under the same key, from the body or the header', () => {
  expect(parse({ idempotency_key: 'k', message_id: 'm' }).identity).toEqual({ key: 'k', by: 'key' });
  expect(parse({}, { idempotencyKey: 'k' }).identity).toEqual({ key: 'k', by: 'key' });
  expect(parse({}, { timeoutMs: '5000' }).terms.timeout_ms).toBe(5_000);
  expect(pointersOf({ idempotency_key: 'k' }, { idempotencyKey: 'other' })).toEqual(['/idempotency_key']);
});

it.each<[string, object, string]>([
  ['a topic that is none', { topic: 'a..b' }, '/topic'],
  ['no topic', { topic: undefined }, '/topic'],
  ['a payload that is no object', { payload: [1] }, '/payload'],
  ['a target', { ability: 'refund' }, '/ability'],
  ['somebody to call back', { callback: { url: 'https://example.org' } }, '/callback'],
  ['a deadline that is none', { timeout_ms: 0 }, '/timeout_ms'],
])('refuses %s', (_what, more, pointer) => {
  expect(pointersOf(more)).toContain(pointer);
});

it('has ids that meet no others: by tenant, source, key, origin of the key and subscription', () => {
  const base = { tenant: 't', source: 's', key: 'k', by: 'id' as const };
  const others = [base, { ...base, by: 'key' as const }, { ...base, tenant: 't:s' }, { ...base, source: 's1' }];
  const ids = others.flatMap((one) => [publishId(one), deliveryId(one, 'a'), deliveryId(one, 'b')]);
  ids.push(reachIdOfMessage({ tenant: 't', source: 's', messageId: 'k' }));
  expect(new Set(ids.map((id) => id.slice(2))).size).toBe(ids.length);
  expect(publishId(base)).toMatch(/^e-[a-z2-7]{32}$/);
  expect(deliveryId(base, 'a')).toMatch(/^r-[a-z2-7]{32}$/);
});
