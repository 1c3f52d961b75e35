import fc from 'fast-check';
import { mergeOutcomes, OUTCOME_WINDOW, OutcomeWindow } from './outcome-window';

const outcomes = fc.array(fc.boolean(), { maxLength: 2_500 });
const windowOf = (failed: boolean[], startSec = 0) => {
  const window = new OutcomeWindow();
  failed.forEach((outcome, n) => window.add(outcome, startSec + n));
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
