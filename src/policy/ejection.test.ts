import fc from 'fast-check';
import { ejectionMs, FailureStreaks, maxEjected, timesAfter, type EjectionSettings } from './ejection';

const settings: EjectionSettings = { consecutiveFailures: 5, baseMs: 30_000, maxMs: 300_000, maxPercent: 50 };

it.each([
  [3, 67, 2],
  [3, 66, 1],
  [1, 50, 0],
  [1, 99, 0],
  [1, 100, 1],
  [7, 100, 7],
  [100, 29, 29],
  [2, 50, 1],
  [0, 100, 0],
  [5, 0, 0],
])('of %i instances at %i %% at most %i are out', (count, percent, expected) => {
  expect(maxEjected(count, percent)).toBe(expected);
});

it('never lets out a greater share than allowed (property)', () => {
  fc.assert(
    fc.property(fc.nat(10_000), fc.integer({ min: 0, max: 100 }), (count, percent) => {
      const out = maxEjected(count, percent);
      expect(out * 100).toBeLessThanOrEqual(count * percent);
      expect((out + 1) * 100).toBeGreaterThan(count * percent);
    }),
  );
});

it.each([
  [1, 30_000],
  [2, 60_000],
  [10, 300_000],
  [1_000_000, 300_000],
])('ejection number %i in succession lasts %i ms', (times, expected) => {
  expect(ejectionMs(times, settings)).toBe(expected);
});

it.each([
  [3, 0, 3],
  [3, 29_999, 3],
  [3, 30_000, 2],
  [3, 95_000, 0],
  [3, 1e12, 0],
  [0, 0, 0],
  [2, -5, 2],
])('of %i ejections %i healthy ms leave %i', (times, healthyMs, expected) => {
  expect(timesAfter(times, healthyMs, settings)).toBe(expected);
});

describe('failures in a row', () => {
  it('are counted by instance and end with a success', () => {
    const streaks = new FailureStreaks();
    expect([true, true, false, true].map((failed) => streaks.note('a', failed))).toEqual([1, 2, 0, 1]);
    expect(streaks.note('b', true)).toBe(1);
    streaks.forget('a');
    expect(streaks.note('a', true)).toBe(1);
  });

  it('are the length of the run of failures at the end (property)', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1 }), (outcomes) => {
        const streaks = new FailureStreaks();
        const last = outcomes.map((failed) => streaks.note('a', failed)).at(-1);
        expect(last).toBe(outcomes.length - 1 - outcomes.lastIndexOf(false));
      }),
    );
  });

  it('of instances that never come back do not pile up', () => {
    const streaks = new FailureStreaks();
    for (let n = 0; n < 20_000; n++) streaks.note(`gone-${n}`, true);
    expect(streaks.note('gone-0', true)).toBe(1);
    expect(streaks.note('gone-19999', true)).toBe(2);
  });
});
