import fc from 'fast-check';
import type { AbilityStats } from '../protocol/world';
import {
  calibrate,
  confidenceOf,
  effectiveWeights,
  latencyScore,
  newcomerP50Ms,
  NEWCOMER_P50_MS,
  reliabilityScore,
  totalScore,
} from './score';
import { DEFAULT_ROUTER_CONFIG, type FactorName } from './types';

const ENABLED = DEFAULT_ROUTER_CONFIG.enabledFactors;
const share = fc.double({ min: 0, max: 1, noNaN: true });
const factors = fc.record({ semantic_similarity: share, latency_score: share, reliability_score: share });
const weight = fc.double({ min: 0, max: 1000, noNaN: true });
const weights = fc
  .record({ semantic_similarity: weight, latency_score: weight, reliability_score: weight })
  .filter((w) => Object.values(w).some((value) => value > 1e-9));
const anyNumber = fc.double({ noNaN: true, noDefaultInfinity: true });

function stats(requests: number, failures: number, p50_ms: number | null = null): AbilityStats {
  return { requests, failures, p50_ms, p95_ms: null, p99_ms: null, in_flight: 0 };
}

const within01 = (value: number) => Number.isFinite(value) && value >= 0 && value <= 1;

describe('totalScore (R17)', () => {
  test('is 0.6 similarity + 0.2 latency + 0.2 reliability by default', () => {
    const effective = effectiveWeights(DEFAULT_ROUTER_CONFIG);
    const parts = { semantic_similarity: 0.5, latency_score: 0.25, reliability_score: 1 };
    expect(totalScore(parts, effective)).toBeCloseTo(0.6 * 0.5 + 0.2 * 0.25 + 0.2 * 1, 6);
  });

  test('stays within 0–1 under any weights, and grows with each factor', () => {
    fc.assert(
      fc.property(factors, weights, fc.constantFrom<FactorName>(...ENABLED), share, (parts, given, factor, more) => {
        const effective = effectiveWeights({ weights: given, enabledFactors: ENABLED });
        const before = totalScore(parts, effective);
        const raised = { ...parts, [factor]: Math.max(parts[factor], more) };
        expect(within01(before)).toBe(true);
        expect(totalScore(raised, effective)).toBeGreaterThanOrEqual(before);
      }),
    );
  });

  test('a disabled factor has no say, the others share its weight', () => {
    const effective = effectiveWeights({
      ...DEFAULT_ROUTER_CONFIG,
      enabledFactors: ['semantic_similarity', 'latency_score'],
    });
    expect(effective.reliability_score).toBe(0);
    expect(effective.semantic_similarity).toBeCloseTo(0.75);
    expect(effective.latency_score).toBeCloseTo(0.25);
  });

  test.each([
    [{ semantic_similarity: 0, latency_score: 0, reliability_score: 0 }, 'all zero'],
    [{ semantic_similarity: 1, latency_score: -0.1, reliability_score: 0 }, 'negative'],
    [{ semantic_similarity: Number.NaN, latency_score: 1, reliability_score: 0 }, 'not a number'],
  ])('weights that are %j are refused (%s)', (given) => {
    expect(() => effectiveWeights({ weights: given, enabledFactors: ENABLED })).toThrow(
      expect.objectContaining({ code: 'weights_invalid' }),
    );
  });

  test('weights that are all on disabled factors are refused', () => {
    const given = { semantic_similarity: 1, latency_score: 0, reliability_score: 0 };
    expect(() => effectiveWeights({ weights: given, enabledFactors: ['latency_score'] })).toThrow(/enabled factor/);
  });
});

describe('calibrate', () => {
  test('the nearest has 1, equals are equal, order of size is kept, wherever each stands', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -20, max: 20, noNaN: true }), { minLength: 1, maxLength: 30 }),
        (closeness) => {
          const calibrated = calibrate(closeness);
          expect(Math.max(...calibrated)).toBe(1);
          expect(calibrated.every(within01)).toBe(true);
          expect(calibrate([...closeness].reverse()).reverse()).toEqual(calibrated);
          for (let i = 1; i < closeness.length; i++) {
            if (closeness[i]! >= closeness[0]!) expect(calibrated[i]!).toBeGreaterThanOrEqual(calibrated[0]!);
          }
        },
      ),
    );
  });

  test('a difference of 1 is a factor of e, whatever else is in the set', () => {
    expect(calibrate([3, 2])[1]).toBeCloseTo(Math.exp(-1), 6);
    expect(calibrate([3, 2, -50])[1]).toBeCloseTo(Math.exp(-1), 6);
  });
});

describe('latencyScore', () => {
  test('is 1/(1+p50 in seconds), falling and never NaN', () => {
    expect(latencyScore(0)).toBe(1);
    expect(latencyScore(1000)).toBe(0.5);
    expect(latencyScore(Number.NaN)).toBe(0);
    expect(latencyScore(Infinity)).toBe(0);
    fc.assert(
      fc.property(anyNumber, anyNumber, (a, b) => {
        expect(within01(latencyScore(a))).toBe(true);
        if (a <= b) expect(latencyScore(a)).toBeGreaterThanOrEqual(latencyScore(b));
      }),
    );
  });

  test('a newcomer stands where the median of the measured stands', () => {
    expect(newcomerP50Ms([null, stats(5, 0, 100), stats(5, 0, 300), stats(5, 0, 9000)])).toBe(300);
    expect(newcomerP50Ms([null, stats(5, 0, 100), stats(5, 0, 300)])).toBe(200);
    expect(newcomerP50Ms([null, stats(0, 0)])).toBe(NEWCOMER_P50_MS);
  });
});

describe('reliabilityScore', () => {
  test('starts at the prior mean of 0.9 and moves to the measured rate with evidence', () => {
    expect(reliabilityScore(null)).toBe(0.9);
    expect(reliabilityScore(stats(2, 0))).toBeCloseTo(20 / 22, 6);
    expect(reliabilityScore(stats(1000, 10))).toBeCloseTo(1008 / 1020, 6);
    expect(reliabilityScore(stats(1000, 10))).toBeGreaterThan(reliabilityScore(stats(2, 0)));
  });

  test('is within 0–1 and falls with failures, even for counts that make no sense', () => {
    fc.assert(
      fc.property(fc.integer({ min: -5, max: 1e9 }), fc.integer({ min: -5, max: 1e9 }), (requests, failures) => {
        const score = reliabilityScore(stats(requests, failures));
        expect(within01(score)).toBe(true);
        expect(reliabilityScore(stats(requests, failures + 1))).toBeLessThanOrEqual(score);
      }),
    );
  });
});

describe('confidenceOf', () => {
  test('1 without a runner-up, 0 for a tie, growing with the margin', () => {
    expect(confidenceOf([0.9])).toBe(1);
    expect(confidenceOf([0.9, 0.9])).toBe(0);
    expect(confidenceOf([0.9, 0.85])).toBeCloseTo(0.181, 3);
    fc.assert(
      fc.property(share, share, share, (winner, a, b) => {
        const [near, far] = a < b ? [b, a] : [a, b];
        expect(within01(confidenceOf([winner, near]))).toBe(true);
        expect(confidenceOf([winner, far])).toBeGreaterThanOrEqual(confidenceOf([winner, near]));
      }),
    );
  });
});
