import fc from 'fast-check';
import type { Subscription } from '../../protocol/subscription';
import { patternsOf } from '../../protocol/topics';
import { SubscriptionIndex } from './subscription-index';

const subscription = (id: string, topic: string, more: Partial<Subscription> = {}): Subscription => ({
  id,
  topic,
  agent: 'audit',
  created_at: '2026-01-01T00:00:00.000Z',
  ...more,
});
const idsOf = (found: Subscription[]) => found.map(({ id }) => id);

it('finds by topic and filter, in the order of ids, and forgets what was replaced or deleted', () => {
  const index = new SubscriptionIndex();
  index.set(subscription('b', 'orders.*'));
  index.set(subscription('a', 'orders.created', { filter: { type: 'x' } }));
  index.set(subscription('c', '*'));
  expect(idsOf(index.matching('orders.created', { type: 'x' }))).toEqual(['a', 'b', 'c']);
  expect(idsOf(index.matching('orders.created', { type: 'y' }))).toEqual(['b', 'c']);
  expect(idsOf(index.listeningTo('orders.created'))).toEqual(['a', 'b', 'c']);
  index.set(subscription('b', 'refunds'));
  index.delete('c');
  index.delete('unknown');
  expect(idsOf(index.matching('orders.created', { type: 'x' }))).toEqual(['a']);
  expect(idsOf(index.all())).toEqual(['a', 'b']);
});

it('agrees with asking each subscription, whatever came and went', () => {
  const segment = fc.constantFrom('a', 'b', 'c');
  const topic = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
  const pattern = fc.oneof(
    topic,
    topic.map((text) => `${text}.*`),
    fc.constant('*'),
  );
  const filter = fc.option(fc.record({ type: fc.constantFrom('x', 'y') }), { nil: undefined });
  const change = fc.record({ id: fc.constantFrom('1', '2', '3', '4'), gone: fc.boolean(), pattern, filter });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), topic, (changes, name) => {
      const index = new SubscriptionIndex();
      const model = new Map<string, Subscription>();
      for (const one of changes) {
        const made = subscription(one.id, one.pattern, { filter: one.filter });
        if (one.gone) index.delete(one.id);
        else index.set(made);
        if (one.gone) model.delete(one.id);
        else model.set(one.id, made);
      }
      const expected = [...model.values()]
        .filter((one) => patternsOf(name).includes(one.topic) && (one.filter?.type ?? 'x') === 'x')
        .map(({ id }) => id)
        .sort();
      expect(idsOf(index.matching(name, { type: 'x' }))).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

it('asks nobody who listens to other topics', () => {
  const index = new SubscriptionIndex();
  for (let n = 0; n < 20_000; n += 1) index.set(subscription(`s-${n}`, `topic-${n}.*`));
  const started = performance.now();
  for (let n = 0; n < 1_000; n += 1) expect(index.matching(`topic-${n}.a.b`, {})).toHaveLength(1);
  expect(performance.now() - started).toBeLessThan(5_000);
});
