import fc from 'fast-check';
import { estimateOf, verdictOf, type FeasibilityTerms, type WaitFacts } from './feasibility';
import type { ServiceProfile } from './queueing';

const profileOf = (values: readonly number[]): ServiceProfile => ({
  count: values.length,
  sumMs: values.reduce((sum, value) => sum + value, 0),
  sumSquaresMs2: values.reduce((sum, value) => sum + value * value, 0),
  values: values.toSorted((a, b) => a - b).map((value) => [value, 1] as const),
});
const times = (count: number, valueMs: number) => Array<number>(count).fill(valueMs);
const DURABLE: FeasibilityTerms = { deadlineMs: 10_000, attemptMs: 60_000, patienceMs: Number.POSITIVE_INFINITY };
const settings = { feasibility: 'refuse' as const, minProbability: 0.05 };
const busy = (queued: number, service = profileOf(times(100, 1_000))): WaitFacts => ({
  servers: 1,
  inFlight: 1,
  queued,
  service,
});

const facts: fc.Arbitrary<WaitFacts> = fc.record({
  servers: fc.integer({ min: 1, max: 50 }),
  inFlight: fc.nat(100),
  queued: fc.nat(500),
  durable: fc.boolean(),
  noticeMs: fc.nat(1_000),
  service: fc
    .array(fc.double({ min: 1, max: 60_000, noNaN: true }), { minLength: 5, maxLength: 40 })
    .map((values) => profileOf(values)),
});

describe('an estimate', () => {
  it('is the service alone while a server is free', () => {
    const estimate = estimateOf({
      servers: 2,
      inFlight: 1,
      queued: 0,
      service: profileOf([100, 200, 300, 400, 5_000]),
    })!;
    expect([estimate.etaMs, estimate.etaP95Ms, estimate.waitMs]).toEqual([300, 5_000, 0]);
  });

  it('waits for the one under way, and for everybody before it', () => {
    expect(estimateOf(busy(0))!.waitMs).toBeCloseTo(525, 0); // half a service is left of a constant one
    expect(estimateOf(busy(9))!.waitMs).toBeCloseTo(9_525, 0);
    const ratio = estimateOf(busy(9))!.etaMs / 10_525;
    expect([ratio > 0.85, ratio < 1]).toEqual([true, true]); // a median, below the mean
    expect(estimateOf({ ...busy(9), servers: 10, inFlight: 10 })!.waitMs).toBeCloseTo(952.5, 0);
  });

  it('of a durable hand-over counts the time for which it stays away, and until a free place is seen', () => {
    const inOrder = estimateOf(busy(9))!.waitMs;
    // Ten whole services, and less than half of the time away.
    expect(estimateOf({ ...busy(9), durable: true })!.waitMs).toBeCloseTo(10_000 + 4_500, 6);
    expect(estimateOf({ ...busy(9), noticeMs: 500 })!.waitMs).toBeCloseTo(inOrder * 1.5, 6);
  });

  it('of a durable hand-over that gets its place while it stands in the queue is like any other', () => {
    const short = busy(9, profileOf(times(9, 10)));
    expect(estimateOf({ ...short, durable: true })!.waitMs).toBe(estimateOf(short)!.waitMs);
    const comesBack = estimateOf({ ...short, durable: true, queueWaitMs: 50 })!;
    expect(comesBack.waitMs).toBeCloseTo(100 + 0.45 * 500, 6);
  });

  it('is not made of fewer than five services', () => {
    expect(estimateOf(busy(3, profileOf([10, 10, 10, 10])))).toBeNull();
  });

  it('never is negative, has its quantiles in order, and grows with the queue', () => {
    fc.assert(
      fc.property(facts, fc.integer({ min: 1, max: 50 }), (one, more) => {
        const [now, later] = [estimateOf(one)!, estimateOf({ ...one, queued: one.queued + more })!];
        for (const { etaMs, etaP95Ms, waitMs } of [now, later]) {
          expect(Math.min(etaMs, waitMs)).toBeGreaterThanOrEqual(0);
          expect(etaP95Ms).toBeGreaterThanOrEqual(etaMs * (1 - 1e-6));
        }
        expect(later.waitMs).toBeGreaterThanOrEqual(now.waitMs);
        expect(later.etaMs).toBeGreaterThanOrEqual(now.etaMs * (1 - 1e-5));
        expect(later.etaP95Ms).toBeGreaterThanOrEqual(now.etaP95Ms * (1 - 1e-5));
      }),
    );
  });

  it('gives a chance that falls with the queue and grows with the time', () => {
    fc.assert(
      fc.property(facts, fc.integer({ min: 1, max: 600_000 }), (one, deadlineMs) => {
        const terms = { ...DURABLE, deadlineMs };
        const chance = estimateOf(one)!.chance(terms);
        expect(chance).toBeGreaterThanOrEqual(0);
        expect(chance).toBeLessThanOrEqual(1 + 1e-9);
        expect(estimateOf({ ...one, queued: one.queued + 5 })!.chance(terms)).toBeLessThanOrEqual(chance + 1e-6);
        expect(estimateOf(one)!.chance({ ...terms, deadlineMs: deadlineMs * 2 })).toBeGreaterThanOrEqual(chance - 1e-6);
        expect(estimateOf(one)!.chanceAlone(terms)).toBeGreaterThanOrEqual(chance - 1e-6);
      }),
    );
  });

  it('knows that an attempt may use half of what is left, and no more than its own time', () => {
    const { chance } = estimateOf({ servers: 1, inFlight: 0, queued: 0, service: profileOf(times(100, 1_000)) })!;
    expect(chance({ ...DURABLE, deadlineMs: 2_000 })).toBe(1);
    expect(chance({ ...DURABLE, deadlineMs: 1_999 })).toBe(0);
    expect(chance({ ...DURABLE, attemptMs: 999 })).toBe(0);
  });
});

describe('a verdict', () => {
  it('is fine while there is time', () => {
    expect(verdictOf(estimateOf(busy(3))!, DURABLE, settings)).toEqual({ kind: 'fine' });
  });

  it('warns of what is more likely late than not', () => {
    const at = verdictOf(estimateOf(busy(10))!, DURABLE, { ...settings, feasibility: 'warn' });
    expect(at.kind).toBe('at_risk');
  });

  it('refuses what is hopeless, and says when the queue will have gone', () => {
    const verdict = verdictOf(estimateOf(busy(50))!, DURABLE, settings);
    expect(verdict).toMatchObject({ kind: 'hopeless', retryAfterMs: 50_525 });
  });

  it('refuses for good what takes longer than there is time even without a queue', () => {
    const slow = estimateOf(busy(3, profileOf(times(100, 6_000))))!;
    expect(verdictOf(slow, DURABLE, settings)).toMatchObject({ kind: 'hopeless', retryAfterMs: null });
  });

  it('never refuses by little data, nor where it may not', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 90_000 }), { minLength: 5, maxLength: 51 }),
        fc.nat(10_000),
        (services, queued) => {
          const estimate = estimateOf(busy(queued, profileOf(services)))!;
          expect(verdictOf(estimate, DURABLE, settings).kind).not.toBe('hopeless');
        },
      ),
    );
    const hopeless = estimateOf(busy(1_000))!;
    expect(verdictOf(hopeless, DURABLE, { ...settings, feasibility: 'warn' }).kind).toBe('at_risk');
    expect(verdictOf(hopeless, DURABLE, { ...settings, feasibility: 'off' }).kind).toBe('fine');
  });

  it('counts the patience of a caller that waits', () => {
    const estimate = estimateOf(busy(3))!;
    expect(estimate.chance(DURABLE)).toBeGreaterThan(0.9);
    expect(estimate.chance({ ...DURABLE, patienceMs: 500 })).toBeLessThan(0.01);
  });
});
