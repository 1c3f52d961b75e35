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
