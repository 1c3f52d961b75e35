import fc from 'fast-check';
import { seededRandom } from '../../../test/routing/fixtures';
import { failureP, quantile, slownessP, stratum, upperTail } from './statistics';
import { look, newTrial, observe, spentAt, type Trial, type TrialSettings, type Verdict } from './trial';

const SETTINGS: TrialSettings = { alpha: 0.05, minRequests: 40, minErrorIncrease: 0, minLatencyRatio: 1 };

interface Arms {
  canary: number;
  stable: number;
}

/** Runs one trial until it is settled or the canary has had so many calls; failure rates per stretch, five calls against forty. */
function settled(random: () => number, rates: (stretch: number) => Arms, limit = 1_500): Verdict | null {
  let trial = newTrial(SETTINGS);
  const none = { canary: [], stable: [] };
  const draw = (requests: number, rate: number) => {
    let failures = 0;
    for (let n = 0; n < requests; n += 1) if (random() < rate) failures += 1;
    return { requests, failures };
  };
  for (let stretch = 0; stretch * 5 < limit; stretch += 1) {
    const { canary, stable } = rates(stretch);
    const step = look(observe(trial, draw(5, canary), draw(40, stable)), none, SETTINGS);
    if (step.verdict) return step.verdict;
    trial = step.trial;
  }
  return null;
}

const share = (runs: number, rates: (stretch: number) => Arms, seed: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: runs }, () => settled(random, rates)).filter((verdict) => verdict !== null).length / runs;
};

describe('under repeated looks', () => {
  // Three standard errors above α: sqrt(.05 × .95 / 150) = 0.018.
  it('a canary that is as good is rolled back with chance α at most', () => {
    expect(share(150, () => ({ canary: 0.1, stable: 0.1 }), 1)).toBeLessThan(0.05 + 3 * 0.018);
  });

  it('an outage that strikes both says nothing against it', () => {
    const outage = (stretch: number) =>
      stretch % 40 < 4 ? { canary: 0.9, stable: 0.9 } : { canary: 0.02, stable: 0.02 };
    expect(share(150, outage, 2)).toBeLessThan(0.05 + 3 * 0.018);
  });

  it('one that fails three times as often is found out', () => {
    expect(share(60, () => ({ canary: 0.15, stable: 0.05 }), 3)).toBeGreaterThan(0.95);
  });

  it('one that becomes bad after it was good for long is found out too', () => {
    const turns = (stretch: number) => ({ canary: stretch < 100 ? 0.02 : 0.5, stable: 0.02 });
    expect(share(40, turns, 4)).toBeGreaterThan(0.95);
  });

  it('all looks together spend α', () => {
    let spent = 0;
    for (let number = 1; number <= 10_000; number += 1) spent += spentAt(number, 0.01);
    expect(spent).toBeLessThan(0.01);
    expect(spent).toBeGreaterThan(0.0099);
  });
});

describe('latency', () => {
  const histogram = (values: number[]) =>
    [...new Set(values)].sort((a, b) => a - b).map((ms) => ({ ms, count: values.filter((one) => one === ms).length }));
  const due: Trial = {
    ...newTrial(SETTINGS),
    canary: { requests: 60, failures: 0 },
    stable: { requests: 600, failures: 0 },
  };

  it('a canary that is slower is found out by its median or its p95; one as fast is not', () => {
    const random = seededRandom(5);
    const sample = (size: number, factor: number) =>
      histogram(Array.from({ length: size }, () => Math.round(factor * 100 * (1 + random()))));
    const slow = look(due, { canary: sample(60, 1.6), stable: sample(600, 1) }, SETTINGS).verdict;
    expect(slow).toMatchObject({ by: 'latency', look: 1, requests: { canary: 60, stable: 600 } });
    expect(slow!.canary).toBeGreaterThan(slow!.stable);
    expect(look(due, null, SETTINGS)).toMatchObject({ verdict: null, trial: { looks: 1 } });
    expect(look(due, { canary: sample(60, 1), stable: sample(600, 1) }, SETTINGS).verdict).toBeNull();
    const strict = { ...SETTINGS, minLatencyRatio: 3 };
    expect(look(due, { canary: sample(60, 1.6), stable: sample(600, 1) }, strict).verdict).toBeNull();
  });

  it('the rank test agrees with counting pairs, ties by halves', () => {
    const values = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(values, values, (a, b) => {
        const wins = a
          .flatMap((x) => b.map((y) => (x > y ? 1 : x === y ? 0.5 : 0)))
          .reduce<number>((sum, one) => sum + one, 0);
        const p = slownessP(histogram(a), histogram(b));
        expect(p).toBeGreaterThanOrEqual(0);
        expect(p).toBeLessThanOrEqual(1);
        if (wins <= (a.length * b.length) / 2) expect(p).toBeGreaterThanOrEqual(0.5);
      }),
    );
  });

  it('quantiles are nearest ranks', () => {
    expect(quantile(histogram([1, 2, 3, 4]), 0.5)).toBe(2);
    expect(quantile([], 0.5)).toBeNull();
  });
});

it('looks no earlier than it is due, and not at what it has no other arm for', () => {
  const early = observe(newTrial(SETTINGS), { requests: 39, failures: 39 }, { requests: 400, failures: 0 });
  expect(look(early, { canary: [], stable: [] }, SETTINGS)).toEqual({ trial: early, verdict: null });
  expect(stratum({ requests: 10, failures: 10 }, { requests: 0, failures: 0 })).toEqual({ excess: 0, variance: 0 });
  expect(failureP({ excess: 0, variance: 0 })).toBe(1);
});

it('the tail of the normal distribution is right to six digits', () => {
  for (const [z, p] of [
    [0, 0.5],
    [1.644854, 0.05],
    [2.326348, 0.01],
    [3.090232, 0.001],
    [-1.644854, 0.95],
  ])
    // prettier-ignore
    expect(upperTail(z!)).toBeCloseTo(p!, 6);
});
