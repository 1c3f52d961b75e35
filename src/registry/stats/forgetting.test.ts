import fc from 'fast-check';
import { faded, pooled, remaining } from './forgetting';

const HALF_LIFE_MS = 600_000;
const weighed = fc
  .record({
    requests: fc.double({ min: 0, max: 1_000, noNaN: true }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ requests, share }) => ({ requests, failures: requests * share }));

it('half is left after each half-life, and a clock that goes back adds nothing', () => {
  expect(remaining(0, HALF_LIFE_MS)).toBe(1);
  expect(remaining(HALF_LIFE_MS, HALF_LIFE_MS)).toBe(0.5);
  expect(remaining(3 * HALF_LIFE_MS, HALF_LIFE_MS)).toBe(0.125);
  expect(remaining(-3_600_000, HALF_LIFE_MS)).toBe(1);
});

it('fades in two steps as in one, and keeps the share of failures', () => {
  fc.assert(
    fc.property(weighed, fc.nat(1e7), fc.nat(1e7), (given, first, second) => {
      const once = faded({ ...given, atMs: 0 }, first + second, HALF_LIFE_MS);
      const half = faded({ ...given, atMs: 0 }, first, HALF_LIFE_MS);
      const twice = faded({ ...half, atMs: first }, first + second, HALF_LIFE_MS);
      expect(twice.requests).toBeCloseTo(once.requests, 6);
      expect(twice.failures).toBeCloseTo(once.failures, 6);
      expect(once.failures).toBeLessThanOrEqual(once.requests);
    }),
  );
});

it('of several processes adds up to a window at most, in proportion', () => {
  fc.assert(
    fc.property(fc.array(weighed, { maxLength: 8 }), (evidence) => {
      const sum = evidence.reduce((total, { requests }) => total + requests, 0);
      const failed = evidence.reduce((total, { failures }) => total + failures, 0);
      const { requests, failures } = pooled(evidence, 1_000);
      expect(requests).toBeCloseTo(Math.min(sum, 1_000), 6);
      if (sum > 0) expect(failures / requests).toBeCloseTo(failed / sum, 6);
      else expect(failures).toBe(0);
    }),
  );
});
