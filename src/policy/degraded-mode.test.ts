import fc from 'fast-check';
import { degradedMode } from './degraded-mode';

const now = () => new Date('2026-01-01T12:00:00Z');
const since = '2026-01-01T11:00:00.000Z';
const before = { healthyShare: 0.2, threshold: 0.3, since };

it.each([
  [{ healthy: 3, total: 10 }, false],
  [{ healthy: 2, total: 10 }, true],
  [{ healthy: 1, total: 4 }, true],
  // Too few to tell: ⌈1/0.3⌉ = 4.
  [{ healthy: 0, total: 3 }, false],
  [{ healthy: 0, total: 0 }, false],
])('%j at 0.3 begins: %s', (population, begins) => {
  const mode = degradedMode(population, 0.3, null, now);
  expect(mode).toEqual(
    begins
      ? { healthyShare: population.healthy / population.total, threshold: 0.3, since: '2026-01-01T12:00:00.000Z' }
      : null,
  );
});

it.each([
  [{ healthy: 3, total: 10 }, true],
  [{ healthy: 35, total: 100 }, true],
  [{ healthy: 36, total: 100 }, false],
  [{ healthy: 0, total: 3 }, false],
])('once degraded, %j stays so: %s', (population, stays) => {
  expect(degradedMode(population, 0.3, before, now)?.since).toBe(stays ? since : undefined);
});

it('is the same object while nothing changes, and keeps since when the share does', () => {
  expect(degradedMode({ healthy: 2, total: 10 }, 0.3, before, now)).toBe(before);
  expect(degradedMode({ healthy: 1, total: 10 }, 0.3, before, now)).toEqual({ ...before, healthyShare: 0.1 });
});

it('can always end, and is off at 0', () => {
  expect(degradedMode({ healthy: 5, total: 5 }, 1, { healthyShare: 0.8, threshold: 1, since }, now)).toBeNull();
  expect(degradedMode({ healthy: 0, total: 50 }, 0, null, now)).toBeNull();
});

it('neither begins above the threshold nor ends below it (property)', () => {
  const share = fc.integer({ min: 1, max: 100 }).map((percent) => percent / 100);
  const population = fc
    .tuple(fc.nat(200), fc.nat(200))
    .map(([a, b]) => ({ healthy: Math.min(a, b), total: Math.max(a, b) }));
  fc.assert(
    fc.property(population, share, fc.boolean(), (counts, threshold, was) => {
      const mode = degradedMode(counts, threshold, was ? { ...before, threshold } : null, now);
      const known = counts.total >= Math.ceil(1 / threshold);
      if (mode !== null) expect(known && counts.healthy / counts.total <= threshold + 0.05).toBe(true);
      else expect(!known || counts.healthy / counts.total >= threshold).toBe(true);
    }),
  );
});
