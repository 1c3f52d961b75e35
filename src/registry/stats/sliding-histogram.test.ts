import fc from 'fast-check';
import { LATENCY_WINDOW_MS, SlidingHistogram } from './sliding-histogram';

const SLICE_MS = 15_000;

it('counts what is younger than 4¾ minutes, nothing older than 5, whenever it is asked', () => {
  const steps = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 60_000 }), fc.double({ min: 1, max: 1_000, noNaN: true })),
    { maxLength: 80 },
  );
  fc.assert(
    fc.property(steps, (samples) => {
      const window = new SlidingHistogram();
      let nowMs = 0;
      const at: number[] = [];
      for (const [pauseMs, durationMs] of samples) {
        nowMs += pauseMs;
        at.push(nowMs);
        window.add(durationMs, nowMs);
        const surely = at.filter((time) => nowMs - time < LATENCY_WINDOW_MS - SLICE_MS).length;
        const atMost = at.filter((time) => nowMs - time < LATENCY_WINDOW_MS).length;
        expect(window.total).toBeGreaterThanOrEqual(surely);
        expect(window.total).toBeLessThanOrEqual(atMost);
        expect(window.buckets().reduce((sum, [, count]) => sum + count, 0)).toBe(window.total);
      }
      window.expire(nowMs + LATENCY_WINDOW_MS);
      expect(window.buckets()).toEqual([]);
    }),
  );
});
