import { isOf } from './index-of';

const fenceAt = (ms: number, attempt = 1) => `${ms}`.padStart(13, '0') + `${attempt}`.padStart(6, '0');
const base = (ms: number) => `${ms}`.padStart(13, '0');

it('an attempt belongs to the run whose first task it began in', () => {
  const run = { fence_bases: [base(5_000), base(7_000)] };
  expect(isOf({ fence: fenceAt(5_000, 3) }, run)).toBe(true);
  expect(isOf({ fence: fenceAt(7_000) }, run)).toBe(true);
  expect(isOf({ fence: fenceAt(6_000) }, run)).toBe(false);
});

it('of an idempotent ability also to a lost task in between, and to none outside', () => {
  const run = { fence_bases: [base(5_000)], first_task: { from: base(4_000), to: base(9_000) } };
  expect([4_000, 6_500, 9_000].map((ms) => isOf({ fence: fenceAt(ms) }, run))).toEqual([true, true, true]);
  expect([3_999, 9_001].map((ms) => isOf({ fence: fenceAt(ms) }, run))).toEqual([false, false]);
  expect(isOf({ fence: '9'.repeat(25) }, run)).toBe(false);
});
