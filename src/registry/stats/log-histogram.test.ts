import fc from 'fast-check';
import { LogHistogram, RELATIVE_ACCURACY } from './log-histogram';

const durations = fc.array(fc.double({ min: 0.01, max: 86_400_000, noNaN: true }), { minLength: 1, maxLength: 300 });
const histogramOf = (values: number[]) => {
  const histogram = new LogHistogram();
  for (const value of values) histogram.add(value);
  return histogram;
};
const QUANTILES = [0, 0.01, 0.5, 0.9, 0.95, 0.99, 1];

it('percentiles are within the stated accuracy of the nearest rank, and never decrease', () => {
  fc.assert(
    fc.property(durations, (values) => {
      const sorted = values.toSorted((a, b) => a - b);
      const found = histogramOf(values).quantiles(QUANTILES)!;
      QUANTILES.forEach((quantile, position) => {
        const exact = sorted[Math.max(1, Math.ceil(quantile * sorted.length)) - 1]!;
        expect(Math.abs(found[position]! - exact) / exact).toBeLessThanOrEqual(RELATIVE_ACCURACY + 1e-9);
      });
      expect(found).toEqual(found.toSorted((a, b) => a - b));
    }),
  );
});

it('merging conserves counts, is the same in any order, and can be taken back', () => {
  fc.assert(
    fc.property(durations, durations, (left, right) => {
      const merged = histogramOf(left);
      merged.merge(histogramOf(right).buckets(), 1);
      expect(merged.total).toBe(left.length + right.length);
      expect(merged.buckets()).toEqual(histogramOf([...right, ...left]).buckets());
      merged.merge(histogramOf(right).buckets(), -1);
      expect(merged.buckets()).toEqual(histogramOf(left).buckets());
    }),
  );
});

it('takes values out of range at the end of the range, and has no percentile of nothing', () => {
  expect(new LogHistogram().quantiles([0.5])).toBeNull();
  const [low, high] = histogramOf([-5, 0, 1e300]).quantiles([0.5, 1])!;
  expect(low).toBeGreaterThan(0);
  expect(low).toBeLessThan(0.011);
  expect(high! / 86_400_000).toBeCloseTo(1, 1);
});
