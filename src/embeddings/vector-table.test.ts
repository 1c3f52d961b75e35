import fc from 'fast-check';
import { VectorTable } from './vector-table';

const hash = (n: number) => n.toString(16).padStart(64, '0');
const entries = (maxEntries: number) => ({ maxEntries, maxBytes: Infinity });
const vector = (n: number) => Float32Array.of(n, -n, 0.5);

test('keeps what a map with an order of use would keep', () => {
  const steps = fc.array(
    fc.record({ id: fc.nat({ max: 6 }), value: fc.integer({ min: -99, max: 99 }), set: fc.boolean() }),
  );
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 5 }), (list, limit) => {
      const table = new VectorTable(entries(limit));
      const model = new Map<number, number>();
      for (const { id, value, set } of list) {
        if (set) {
          table.set(hash(id), vector(value));
          model.delete(id);
          model.set(id, value);
          if (model.size > limit) model.delete(model.keys().next().value!);
        } else {
          const known = model.get(id);
          expect(table.get(hash(id))).toEqual(known === undefined ? undefined : vector(known));
          if (known !== undefined) {
            model.delete(id);
            model.set(id, known);
          }
        }
      }
      const expected = [...model].reverse().map(([id, value]) => ({ hash: hash(id), vector: vector(value) }));
      expect([...table.newestFirst()]).toEqual(expected);
    }),
  );
});

test('a vector that was handed out stays what it is when its row is used again', () => {
  const table = new VectorTable(entries(1));
  table.set(hash(1), vector(1));
  const first = table.get(hash(1));
  table.set(hash(2), vector(2));
  expect(first).toEqual(vector(1));
});

test('a vector of another length is not kept', () => {
  const table = new VectorTable(entries(3));
  table.set(hash(1), vector(1));
  table.set(hash(2), Float32Array.of(1));
  expect(table.get(hash(2))).toBeUndefined();
});

test('vectors of many dimensions are fewer: the memory they take is limited too', () => {
  const table = new VectorTable({ maxEntries: 100, maxBytes: 2 * 3 * 4 });
  for (const n of [1, 2, 3]) table.set(hash(n), vector(n));
  expect([1, 2, 3].map((n) => table.get(hash(n)))).toEqual([undefined, vector(2), vector(3)]);
  const tiny = new VectorTable({ maxEntries: 100, maxBytes: 1 });
  tiny.set(hash(1), vector(1));
  expect(tiny.get(hash(1))).toEqual(vector(1));
});

test('read in turns, it gives no vector under the hash of another that had its row before', () => {
  const table = new VectorTable(entries(3));
  for (const n of [1, 2, 3]) table.set(hash(n), vector(n));
  const reading = table.newestFirst()[Symbol.iterator]();
  expect(reading.next().value).toEqual({ hash: hash(3), vector: vector(3) });
  table.set(hash(4), vector(4));
  expect([...{ [Symbol.iterator]: () => reading }]).toEqual([{ hash: hash(2), vector: vector(2) }]);
});
