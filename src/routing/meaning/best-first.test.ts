import fc from 'fast-check';
import { bestPositions } from './best-first';

test('is what sorting and cutting would give, ties in order of position', () => {
  const scores = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 60 });
  fc.assert(
    fc.property(scores, fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 4 }), (values, limit, every) => {
      const accept = (position: number) => position % every === 0;
      const sorted = values
        .map((_, position) => position)
        .filter(accept)
        .sort((a, b) => values[b]! - values[a]! || a - b);
      expect(bestPositions(Float32Array.from(values), limit, accept)).toEqual(sorted.slice(0, limit));
    }),
  );
});

test('asks only about positions in the running', () => {
  const asked: number[] = [];
  bestPositions(Float32Array.from([3, 1, 2, 0]), 2, (position) => asked.push(position) > 0);
  expect(asked).toEqual([0, 1, 2]);
});

test('a limit of nothing gives nothing', () => {
  expect(bestPositions(Float32Array.from([1, 2]), 0, () => true)).toEqual([]);
});
