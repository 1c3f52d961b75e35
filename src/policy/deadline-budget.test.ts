import fc from 'fast-check';
import { attemptBudgetMs, remainingMs } from './deadline-budget';

const ms = fc.integer({ min: 0, max: 604_800_000 });

describe('the deadline budget', () => {
  it('is never negative nor above the whole, whatever the clock does', () => {
    fc.assert(
      fc.property(ms, fc.integer({ min: -1_000_000, max: 1_000_000_000 }), (total, elapsed) => {
        const left = remainingMs(total, elapsed);
        expect(left).toBeGreaterThanOrEqual(0);
        expect(left).toBeLessThanOrEqual(total);
      }),
    );
  });

  it('gives an attempt at most half of what is left and at most its own timeout', () => {
    fc.assert(
      fc.property(ms, ms, (left, own) => {
        const budget = attemptBudgetMs(left, own);
        expect(budget).toBeLessThanOrEqual(left / 2);
        expect(budget).toBeLessThanOrEqual(own);
        expect(Number.isInteger(budget)).toBe(true);
      }),
    );
  });

  it.each([
    [10_000, 5_000, 5_000],
    [10_000, 3_000, 3_000],
    [1_000, 5_000, 500],
    [1, 5_000, 0],
    [0, 5_000, 0],
  ])('with %i ms left and a timeout of %i ms an attempt may use %i ms', (left, own, budget) => {
    expect(attemptBudgetMs(left, own)).toBe(budget);
  });
});
