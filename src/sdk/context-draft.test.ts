import fc from 'fast-check';
import type { Context, ContextField, ContextOperation } from '../protocol/context';
import type { Json } from '../protocol/shapes';
import { operationsOf } from './context-draft';

const contextOf = (values: Record<string, Json>): Context => {
  const fields = Object.entries(values).map(([name, value], n): [string, ContextField] => [
    name,
    { value, version: n + 10, updated_at: '', updated_by: '' },
  ]);
  return { context_id: 'c', fields: Object.fromEntries(fields) };
};

/** What a store does with operations. */
function applied(values: Record<string, Json>, operations: readonly ContextOperation[]): Map<string, Json> {
  const after = new Map(Object.entries(values));
  for (const each of operations) {
    if (each.op === 'delete') after.delete(each.field);
    else
      after.set(
        each.field,
        each.op === 'set' ? each.value : [...((after.get(each.field) ?? []) as Json[]), each.value],
      );
  }
  return after;
}

const values = fc.dictionary(
  fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
  fc.jsonValue() as fc.Arbitrary<Json>,
);

it('takes a draft to what was made of it, and names the version of each field', async () => {
  await fc.assert(
    fc.asyncProperty(values, values, async (before, wanted) => {
      const context = contextOf(before);
      const operations = await operationsOf<Record<string, Json>>(context, (fields) => {
        for (const name of Object.keys(fields)) delete fields[name];
        Object.assign(fields, structuredClone(wanted));
      });
      const texts = (map: Map<string, Json>) => [...map].map(([name, value]) => [name, JSON.stringify(value)]).sort();
      expect(texts(applied(before, operations))).toEqual(texts(new Map(Object.entries(wanted))));
      for (const each of operations)
        expect(each.base_version).toBe(Object.hasOwn(before, each.field) ? context.fields[each.field]!.version : 0);
    }),
  );
});

it('writes nothing for what stays', async () => {
  const context = contextOf({ a: { x: [1] }, b: 2 });
  expect(await operationsOf(context, () => undefined)).toEqual([]);
  expect(await operationsOf(context, () => ({ a: { x: [1] }, b: 2 }))).toEqual([]);
  expect(await operationsOf<{ b: number }>(context, (fields) => void (fields.b = 2))).toEqual([]);
});

it('takes returned fields as the ones to change', async () => {
  const context = contextOf({ a: 1, b: 2 });
  expect(await operationsOf(context, () => Promise.resolve({ a: undefined, c: null }))).toEqual([
    { op: 'delete', field: 'a', base_version: 10 },
    { op: 'set', field: 'c', value: null, base_version: 0 },
  ]);
});

it('guards returned operations, but for appends', async () => {
  const context = contextOf({ a: 1 });
  const changes = [
    { op: 'set', field: 'a', value: 2 },
    { op: 'append', field: 'log', value: 1 },
    { op: 'delete', field: 'toString' },
  ] as const;
  expect(await operationsOf(context, () => changes)).toEqual([
    { op: 'set', field: 'a', value: 2, base_version: 10 },
    { op: 'append', field: 'log', value: 1 },
    { op: 'delete', field: 'toString', base_version: 0 },
  ]);
});

describe('an update that says two things', () => {
  type Fields = { owner?: Json; total?: number; name?: string; tags?: Json[]; a?: Json };
  const context = contextOf({ name: 'x', total: 1, tags: ['t'] });
  const update = (change: (fields: Fields) => unknown) => operationsOf<Fields>(context, change as never);

  it.each<[what: string, change: (fields: Fields) => unknown]>([
    ['an assigned object', (fields) => (fields.owner = { id: 7 })],
    ['an assigned object with a field of that name', (fields) => (fields.owner = { owner: 7 })],
    ['an assigned number', (fields) => (fields.total = 2)],
    ['an assigned text', (fields) => (fields.name = 'ab')],
    ['an assigned list', (fields) => (fields.tags = ['a', 'b'])],
    ['an assigned list of nothing', (fields) => (fields.tags = [null])],
    ['a deletion', (fields) => delete fields.name],
    ['the new length of a list', (fields) => fields.tags?.push('u')],
    ['null', () => Promise.resolve(null)],
    ['an instance', () => new Map([['a', 1]])],
    ['other fields than it changed', (fields) => ((fields.total = 2), { name: 'y' })],
    ['operations for other fields', (fields) => ((fields.total = 2), [{ op: 'delete', field: 'name' }])],
  ])('is refused when it returns %s', async (_, change) => {
    await expect(update(change)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('with braces'),
    });
  });

  it('is taken when both are the same', async () => {
    const tags = { op: 'set', field: 'tags', value: ['t', 'u'], base_version: 12 };
    expect(await update((fields) => (fields.tags?.push('u'), { tags: fields.tags }))).toEqual([tags]);
    expect(await update((fields) => (fields.tags?.push('u'), fields))).toEqual([tags]);
    expect(await update((fields) => (delete fields.name, fields))).toEqual([
      { op: 'delete', field: 'name', base_version: 10 },
    ]);
    const append = { op: 'append', field: 'tags', value: 'u' };
    expect(await update((fields) => (fields.tags?.push('u'), [append]))).toEqual([append]);
  });

  it('takes plain objects of any kind', async () => {
    const a = { op: 'set', field: 'a', value: 1, base_version: 0 };
    expect(await update(() => Object.assign(Object.create(null) as object, { a: 1 }))).toEqual([a]);
    expect(await update(() => structuredClone({ a: 1 }))).toEqual([a]);
  });
});
