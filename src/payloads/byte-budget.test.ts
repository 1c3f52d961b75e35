import fc from 'fast-check';
import { ByteBudget } from './byte-budget';

const TOTAL = 100;

it('never gives out more than there is, and lets everybody in, in order (property)', async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: TOTAL + 50 }), { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(sizes, async (all) => {
      const budget = new ByteBudget(TOTAL);
      const begun: number[] = [];
      let inside = 0;
      let most = 0;
      const run = (bytes: number, n: number) => async () => {
        begun.push(n);
        inside += Math.min(bytes, TOTAL);
        most = Math.max(most, inside);
        for (let turn = 0; turn < bytes % 7; turn += 1) await Promise.resolve();
        inside -= Math.min(bytes, TOTAL);
        return n;
      };
      const ended = await Promise.all(all.map((bytes, n) => budget.hold(bytes, run(bytes, n))));
      expect(ended).toEqual(all.map((_, n) => n));
      expect(begun).toEqual(ended);
      expect(most).toBeLessThanOrEqual(TOTAL);
    }),
  );
});

it('gives back what a failure held', async () => {
  const budget = new ByteBudget(TOTAL);
  const broken = budget.hold(TOTAL, () => Promise.reject(new Error('broken')));
  const next = budget.hold(TOTAL, () => Promise.resolve('next'));
  await expect(broken).rejects.toThrow('broken');
  await expect(next).resolves.toBe('next');
});
