import fc from 'fast-check';
import { shrinkageFor, Whitening } from './whitening';

const dot = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((sum, value, i) => sum + value * b[i]!, 0);
const vectors = (dimensions: number, count: number) =>
  fc.array(fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: dimensions, maxLength: dimensions }), {
    minLength: count,
    maxLength: count,
  });

test('a direction in which texts of the same ability differ counts less than the others', async () => {
  const noisy = Float32Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? (i % 4 === 0 ? 1 : -1) : 0));
  const whitening = await Whitening.of(noisy, 2);
  const [along, across] = whitening.apply(Float32Array.of(1, 1));
  expect(Math.abs(along!)).toBeLessThan(Math.abs(across!));
});

test('its dot product is that of the shrunk covariance’s inverse', async () => {
  await fc.assert(
    fc.asyncProperty(vectors(2, 6), vectors(2, 2), async (residuals, [a, b]) => {
      const sigma = [0, 0, 0];
      for (const [x, y] of residuals as [number, number][]) {
        sigma[0]! += x * x;
        sigma[1]! += x * y;
        sigma[2]! += y * y;
      }
      const trace = sigma[0]! + sigma[2]!;
      fc.pre(trace > 1e-3 && dot(a!, a!) > 1e-3 && dot(b!, b!) > 1e-3);
      const shrink = shrinkageFor(6, 2);
      const [s11, s12, s22] = sigma.map((value, i) => ((1 - shrink) * 2 * value) / trace + (i === 1 ? 0 : shrink));
      const det = s11! * s22! - s12! * s12!;
      const inner = (p: number[], q: number[]) =>
        (p[0]! * (s22! * q[0]! - s12! * q[1]!) + p[1]! * (s11! * q[1]! - s12! * q[0]!)) / det;
      const expected = inner(a!, b!) / Math.sqrt(inner(a!, a!) * inner(b!, b!));
      const whitening = await Whitening.of(Float32Array.from(residuals.flat()), 2);
      expect(dot(whitening.apply(Float32Array.from(a!)), whitening.apply(Float32Array.from(b!)))).toBeCloseTo(
        expected,
        3,
      );
    }),
  );
});

test.each([
  ['no texts', new Float32Array(0)],
  ['texts that do not differ', new Float32Array(12)],
])('%s change nothing but the length', async (_, residuals) => {
  expect([...(await Whitening.of(residuals, 4)).apply(Float32Array.of(0, 3, 0, 4))]).toEqual([
    0,
    Math.fround(0.6),
    0,
    Math.fround(0.8),
  ]);
});

test('a vector without length stays one', async () => {
  expect([...(await Whitening.of(Float32Array.of(1, 0, 0, 1), 2)).apply(Float32Array.of(0, 0))]).toEqual([0, 0]);
});

test('the more texts, the less it starts from a sphere', () => {
  expect(shrinkageFor(0, 384)).toBe(1);
  expect(shrinkageFor(900, 384)).toBeCloseTo(0.81, 2);
  expect(shrinkageFor(1e9, 384)).toBeLessThan(0.01);
});
