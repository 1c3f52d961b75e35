import fc from 'fast-check';
import { latencyOf, rounded, seededRandom } from './statistics';

describe('latencyOf', () => {
  it('takes nearest ranks', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(latencyOf(hundred)).toEqual({ requests: 100, p50_ms: 50, p95_ms: 95, p99_ms: 99 });
    expect(latencyOf([7])).toEqual({ requests: 1, p50_ms: 7, p95_ms: 7, p99_ms: 7 });
    expect(latencyOf([10, 2])).toMatchObject({ p50_ms: 2, p99_ms: 10 });
  });

  it('sorts as numbers and leaves its input alone', () => {
    const latencies = [9, 10, 100];
    expect(latencyOf(latencies).p50_ms).toBe(10);
    expect(latencies).toEqual([9, 10, 100]);
  });

  it('answers with measured latencies that do not shrink with the rank', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 1e6 }), { minLength: 1 }), (latencies) => {
        const { p50_ms, p95_ms, p99_ms } = latencyOf(latencies);
        expect(latencies).toEqual(expect.arrayContaining([p50_ms, p95_ms, p99_ms]));
        expect(p50_ms <= p95_ms && p95_ms <= p99_ms).toBe(true);
        expect(latencies.filter((ms) => ms <= p99_ms).length).toBeGreaterThanOrEqual(latencies.length * 0.99);
      }),
    );
  });

  it('refuses to say anything about nothing', () => {
    expect(() => latencyOf([])).toThrow(RangeError);
  });
});

it('rounds for people', () => {
  expect([rounded(1.23456, 2), rounded(2, 3), rounded(0.0004, 3)]).toEqual([1.23, 2, 0]);
});

describe('seededRandom', () => {
  it('repeats itself for the same seed only', () => {
    const draw = (seed: number) => Array.from({ length: 5 }, seededRandom(seed));
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });

  it('is spread evenly over [0, 1)', () => {
    const random = seededRandom(20_240_601);
    const draws = Array.from({ length: 20_000 }, random);
    const tenths = Array.from({ length: 10 }, (_, tenth) => draws.filter((x) => Math.floor(x * 10) === tenth).length);
    expect(draws.every((x) => x >= 0 && x < 1)).toBe(true);
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(200);
  });
});
