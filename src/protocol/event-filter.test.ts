import fc from 'fast-check';
import { compileFilter, eventFilterSchema, unmatchable, type EventFilter } from './event-filter';
import { subscriptionBodySchema } from './subscription';

const EVENT = { id: '1', source: '/shop', type: 'order.created', subject: 'eu/7' };

it.each<[EventFilter | undefined, boolean]>([
  [undefined, true],
  [{}, true],
  [{ type: 'order.created' }, true],
  [{ type: 'order' }, false],
  [{ type: 'order.created', subject: 'us/7' }, false],
  [{ exact: { source: '/shop' }, type: 'order.created' }, true],
  [{ prefix: { type: 'order.' }, suffix: { subject: '/7' } }, true],
  [{ prefix: { type: 'order.', subject: 'us' } }, false],
  [{ suffix: { type: 'created' }, prefix: { subject: 'eu' }, exact: { id: '2' } }, false],
  [{ region: 'eu' }, false],
  [{ prefix: { region: 'e' } }, false],
  [{ prefix: 'eu' }, false],
  [{ constructor: 'x' } as unknown as EventFilter, false],
])('%j lets the event through: %s', (filter, expected) => {
  expect(compileFilter(filter)(EVENT)).toBe(expected);
});

it('takes an attribute that is called like a dialect for what it is', () => {
  expect(compileFilter({ prefix: 'eu' })({ ...EVENT, prefix: 'eu' })).toBe(true);
});

it.each<[unknown, string]>([
  [{ Type: 'x' }, 'Type'],
  [{ type: '' }, 'type'],
  [{ type: 7 }, 'type'],
  [{ type: { a: 'b' } }, 'type'],
  [{ prefix: { 'a.b': 'x' } }, 'prefix'],
  [{ prefix: {} }, 'prefix'],
  [{ any: [{ exact: { type: 'x' } }] }, 'any'],
])('%j is refused at %s', (filter, at) => {
  const result = eventFilterSchema.safeParse(filter);
  expect(result.success).toBe(false);
  expect(result.error!.issues.map(({ path }) => path[0])).toContain(at);
});

it('is refused with more than sixteen conditions', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, 'x']));
  expect(eventFilterSchema.safeParse(many(16)).success).toBe(true);
  expect(eventFilterSchema.safeParse({ prefix: many(16), type: 'x' }).success).toBe(false);
});

it('holds when each condition holds, and only then', () => {
  const name = fc.constantFrom('type', 'subject', 'source', 'region');
  const value = fc.constantFrom('a', 'ab', 'abc', 'b', 'bc', 'c');
  const map = fc.dictionary(name, value, { minKeys: 1 });
  const parts = { exact: map, prefix: map, suffix: map };
  fc.assert(
    fc.property(fc.dictionary(name, value), fc.record(parts, { requiredKeys: [] }), (event, filter) => {
      const expected =
        Object.entries(filter.exact ?? {}).every(([key, wanted]) => event[key] === wanted) &&
        Object.entries(filter.prefix ?? {}).every(([key, wanted]) => event[key]?.startsWith(wanted)) &&
        Object.entries(filter.suffix ?? {}).every(([key, wanted]) => event[key]?.endsWith(wanted));
      expect(eventFilterSchema.safeParse(filter).success).toBe(true);
      expect(compileFilter(filter)(event)).toBe(expected);
    }),
    { numRuns: 500 },
  );
});

it.each<[EventFilter, string[][]]>([
  [{ data: 'x' }, [['data']]],
  [{ type: 'x', exact: { specversion: '1.0', subject: 'y' } }, [['exact', 'specversion']]],
  [
    { prefix: { data: 'x' }, suffix: { data: 'y' } },
    [
      ['prefix', 'data'],
      ['suffix', 'data'],
    ],
  ],
  [{ prefix: 'data', datacontenttype: 'text/plain' }, []],
])('%j would never let anything through because of %j, and no subscription may say so', (filter, paths) => {
  expect(unmatchable(filter)).toEqual(paths);
  const { error } = subscriptionBodySchema.safeParse({ topic: 'a', agent: 'b', filter });
  expect(error?.issues.map(({ path }) => path) ?? []).toEqual(paths.map((path) => ['filter', ...path]));
});

it.each(['data_base64', 'a-b', 'ünder', 'a'.repeat(65), ''])('%j is the name of no attribute', (name) => {
  expect(eventFilterSchema.safeParse({ [name]: 'x' }).success).toBe(false);
  expect(eventFilterSchema.safeParse({ exact: { [name]: 'x' } }).success).toBe(false);
});
