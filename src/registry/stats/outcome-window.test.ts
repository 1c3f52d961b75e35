import fc from 'fast-check';
import { mergeOutcomes, OUTCOME_WINDOW, OutcomeWindow } from './outcome-window';

const outcomes = fc.array(fc.boolean(), { maxLength: 2_500 });
const windowOf = (failed: boolean[], startSec = 0) => {
  const window = new OutcomeWindow();
  failed.forEach((outcome, n) => window.add(outcome, startSec + n, (startSec + n) * 1_000));
  return window;
};

it('of one process counts exactly the last 1000', () => {
  fc.assert(
    fc.property(outcomes, (failed) => {
      const last = failed.slice(-OUTCOME_WINDOW);
      const window = windowOf(failed);
      expect(mergeOutcomes([window.blocks()])).toEqual({
        requests: last.length,
        failures: last.filter(Boolean).length,
      });
      expect(window.total).toBe(last.length);
    }),
    { numRuns: 60 },
  );
});

it('of several processes conserves counts up to 1000, and never counts more failures than requests', () => {
  fc.assert(
    fc.property(fc.array(outcomes, { maxLength: 4 }), (processes) => {
      const kept = processes.map((failed) => failed.slice(-OUTCOME_WINDOW));
      const total = kept.flat().length;
      const { requests, failures } = mergeOutcomes(processes.map((failed) => windowOf(failed).blocks()));
      expect(requests).toBe(Math.min(OUTCOME_WINDOW, total));
      expect(failures).toBeLessThanOrEqual(requests);
      if (total <= OUTCOME_WINDOW) expect(failures).toBe(kept.flat().filter(Boolean).length);
    }),
    { numRuns: 60 },
  );
});

it('prefers the newest, whichever process they are of', () => {
  const old = windowOf(Array<boolean>(1_000).fill(true));
  const recent = windowOf(Array<boolean>(975).fill(false), 10_000);
  expect(mergeOutcomes([old.blocks(), recent.blocks()])).toEqual({ requests: 1_000, failures: 25 });
});

describe('weighed by age', () => {
  const HALF_LIFE_MS = 60_000;
  const seconds = fc.array(fc.integer({ min: 0, max: 3_600 }), { maxLength: 1_500 });

  it('is the sum of what each of the last 1000 is worth', () => {
    fc.assert(
      fc.property(seconds, fc.integer({ min: 0, max: 600 }), (unsorted, laterSec) => {
        const ends = unsorted.toSorted((a, b) => a - b);
        const window = new OutcomeWindow();
        ends.forEach((sec, n) => window.add(n % 3 === 0, sec, sec * 1_000));
        const nowSec = (ends.at(-1) ?? 0) + laterSec;
        const worth = (sec: number) => 2 ** (-((nowSec - sec) * 1_000) / HALF_LIFE_MS);
        const kept = ends.map((sec, n) => ({ worth: worth(sec), failed: n % 3 === 0 })).slice(-OUTCOME_WINDOW);
        const sum = (part: typeof kept) => part.reduce((total, one) => total + one.worth, 0);
        const weighed = window.weigh(nowSec * 1_000, HALF_LIFE_MS);
        expect(weighed.requests).toBeCloseTo(sum(kept), 2);
        expect(weighed.failures).toBeCloseTo(sum(kept.filter(({ failed }) => failed)), 2);
      }),
      { numRuns: 60 },
    );
  });

  it('counts in full when it has just happened, and for nothing when it is long ago', () => {
    const window = windowOf([true, true, false]);
    expect(window.weigh(2_999, 3_600_000)).toEqual({
      requests: expect.closeTo(3, 2) as number,
      failures: expect.closeTo(2, 2) as number,
    });
    expect(window.weigh(86_400_000, HALF_LIFE_MS)).toEqual({ requests: 0, failures: 0 });
  });
});
