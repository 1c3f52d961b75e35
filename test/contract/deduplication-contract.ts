/**
 * What every deduplication store owes its agents (R4, R7), whatever it is made of. Each store's tests run this suite; a
 * store of your own can as well.
 */
import { createHash, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { MIN_DEDUPLICATION_TTL_MS as ttlMs } from '../../src/protocol/deduplication';
import type { JsonObject } from '../../src/protocol/shapes';
import type { DeduplicationStore } from '../../src/sdk/dedup/store';

/** A key that nobody used before. */
export const newKey = () => createHash('sha256').update(randomUUID()).digest('hex');

/** The fence of the `n`-th attempt. */
export const fence = (n: number) => `1767225600000${String(n).padStart(6, '0')}`;

/** The suite. `stores` are two handles on the same records, as two instances of an agent have them. */
export function describeDeduplicationStore(name: string, stores: () => [DeduplicationStore, DeduplicationStore]): void {
  describe(`${name} as a deduplication store`, () => {
    let key: string;
    beforeEach(() => (key = newKey()));

    const [look, claim, complete] = verbs(
      () => stores()[0],
      () => key,
    );
    const [lookElsewhere, claimElsewhere, completeElsewhere] = verbs(
      () => stores()[1],
      () => key,
    );

    it('knows nothing of a new key, and looking leaves no trace', async () => {
      expect(await look()).toEqual({ status: 'free' });
      expect(await claim(1)).toEqual({ status: 'free' });
    });

    it('gives a recorded result to everybody who asks, with a claim or without', async () => {
      expect(await complete(2, { answer: 'booked' })).toEqual({ status: 'recorded' });
      expect(await lookElsewhere()).toEqual({ status: 'done', output: { answer: 'booked' } });
      expect(await claimElsewhere(1)).toEqual({ status: 'done', output: { answer: 'booked' } });
      expect(await claimElsewhere(9)).toEqual({ status: 'done', output: { answer: 'booked' } });
    });

    it('never replaces a recorded result, not even for a greater fence', async () => {
      await complete(1, { n: 1 });
      const other = { status: 'superseded', output: { n: 1 } };
      expect(await completeElsewhere(9, { n: 9 })).toEqual(other);
      expect(await complete(1, { n: 2 })).toEqual(other);
      expect(await look()).toEqual({ status: 'done', output: { n: 1 } });
    });

    it('takes the same result twice: the first confirmation may have been lost', async () => {
      await claim(1);
      expect(await complete(1, { n: 1 })).toEqual({ status: 'recorded' });
      expect(await complete(1, { n: 1 })).toEqual({ status: 'recorded' });
    });

    it('lets the greater fence take the claim, and turns the smaller away', async () => {
      expect(await claim(2)).toEqual({ status: 'free' });
      expect(await claimElsewhere(1)).toEqual({ status: 'superseded' });
      expect(await claim(2)).toEqual({ status: 'free' });
      expect(await claimElsewhere(3)).toEqual({ status: 'free' });
      expect(await claim(2)).toEqual({ status: 'superseded' });
    });

    it('records nothing of an attempt that was overtaken, before and after the newer one finishes', async () => {
      await claim(1);
      await claimElsewhere(2);
      expect(await complete(1, { n: 1 })).toEqual({ status: 'superseded', output: null });
      expect(await look()).toEqual({ status: 'free' });
      expect(await completeElsewhere(2, { n: 2 })).toEqual({ status: 'recorded' });
      expect(await complete(1, { n: 1 })).toEqual({ status: 'superseded', output: { n: 2 } });
    });

    it('compares fences over their whole width', async () => {
      const at = async (text: string) => (await stores()[0].begin({ key, fence: text, ttlMs })).status;
      expect(await at('1767225600000000010')).toBe('free');
      expect(await at('1767225600000000009')).toBe('superseded');
      expect(await at('1767225599999999999')).toBe('superseded');
      expect(await at('1767225600001000001')).toBe('free');
    });

    it('keeps keys apart', async () => {
      await complete(1, { n: 1 });
      key = newKey();
      expect(await look()).toEqual({ status: 'free' });
    });

    it.each<[string, JsonObject]>([
      ['an empty object', {}],
      ['every kind of value', { a: null, b: [1, 2.5, -0.1, 1e21, true], c: { d: {}, e: [] } }],
      ['any text', { text: '退款 \u0000\u001f "\\" \u2028 😀', '': 'empty key', 'a\nb': 1 }],
      ['its order of keys', { z: 1, a: 2, m: 3 }],
    ])('gives back %s as it was', async (_, output) => {
      await complete(1, output);
      const answer = await lookElsewhere();
      expect(JSON.stringify(answer)).toBe(JSON.stringify({ status: 'done', output }));
      expect(await complete(1, output)).toEqual({ status: 'recorded' });
    });

    it('keeps outputs as large as it says', async () => {
      const { maxOutputBytes } = stores()[0];
      const output = { text: 'x'.repeat(maxOutputBytes - '{"text":""}'.length) };
      expect(await complete(1, output)).toEqual({ status: 'recorded' });
      expect(await lookElsewhere()).toEqual({ status: 'done', output });
    });

    it('has one winner when many finish at once, and tells the others who it was', async () => {
      const answers = await Promise.all(
        Array.from({ length: 24 }, (_, n) => (n % 2 ? complete : completeElsewhere)(1, { n })),
      );
      const won = answers.findIndex(({ status }) => status === 'recorded');
      expect(answers.filter(({ status }) => status === 'recorded')).toHaveLength(1);
      for (const [n, answer] of answers.entries())
        if (n !== won) expect(answer).toEqual({ status: 'superseded', output: { n: won } });
    });

    it('leaves the claim to the greatest of many that claim at once', async () => {
      await Promise.all(Array.from({ length: 12 }, (_, n) => (n % 2 ? claim : claimElsewhere)(n + 1)));
      for (let n = 1; n <= 11; n += 1) expect(await complete(n, { n })).toEqual({ status: 'superseded', output: null });
      expect(await complete(12, { n: 12 })).toEqual({ status: 'recorded' });
    });

    it('behaves like its model, step by step', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
          key = newKey();
          const model = new Model();
          for (const { verb, n, elsewhere } of steps) {
            const given = { look: [look, lookElsewhere], claim: [claim, claimElsewhere] } as const;
            const actual =
              verb === 'complete'
                ? await (elsewhere ? completeElsewhere : complete)(n, { n })
                : await given[verb][elsewhere ? 1 : 0](n);
            expect(actual).toEqual(model[verb](n));
          }
        }),
        { numRuns: 40 },
      );
    });

    it('has one result for any crowd of attempts, however they interleave', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(attempt, { minLength: 2, maxLength: 8 }), fc.scheduler(), async (attempts, s) => {
          key = newKey();
          const seen: unknown[] = [];
          const finished = attempts.map(async ({ n, exactly, fails }, index) => {
            const [begin, , end] = index % 2 ? [look, claim, complete] : [lookElsewhere, claim, completeElsewhere];
            const claimed = index % 2 ? claim : claimElsewhere;
            await s.schedule(Promise.resolve());
            const begun = exactly ? await claimed(n) : await begin();
            if (begun.status === 'done') seen.push(begun.output);
            if (begun.status !== 'free' || fails) return { recorded: false };
            await s.schedule(Promise.resolve());
            const done = await end(n, { n, index });
            if (done.status === 'recorded') seen.push({ n, index });
            else if (done.output !== null) seen.push(done.output);
            return { recorded: done.status === 'recorded' };
          });
          await s.waitFor(Promise.all(finished));
          const recorded = (await Promise.all(finished)).filter((one) => one.recorded);
          const last = await look();
          if (last.status === 'done') seen.push(last.output);
          expect(new Set(seen.map((output) => JSON.stringify(output))).size).toBeLessThanOrEqual(1);
          expect(recorded).toHaveLength(last.status === 'done' ? 1 : 0);
          // Who was promised to be the greatest and did not fail must have a result to show for it.
          const greatest = Math.max(...attempts.map(({ n }) => n));
          const survives = attempts.some(({ n, fails }) => n === greatest && !fails);
          if (survives) expect(last.status).toBe('done');
        }),
        { numRuns: 40 },
      );
    });
  });
}

/** The three verbs of a store, short enough to read. */
function verbs(store: () => DeduplicationStore, key: () => string) {
  const look = () => store().begin({ key: key(), fence: null, ttlMs });
  const claim = (n: number) => store().begin({ key: key(), fence: fence(n), ttlMs });
  const complete = (n: number, output: JsonObject) => store().complete({ key: key(), fence: fence(n), output, ttlMs });
  return [look, claim, complete] as const;
}

const step = fc.record({
  verb: fc.constantFrom('look' as const, 'claim' as const, 'complete' as const),
  n: fc.integer({ min: 1, max: 4 }),
  elsewhere: fc.boolean(),
});
const attempt = fc.record({ n: fc.integer({ min: 1, max: 5 }), exactly: fc.boolean(), fails: fc.boolean() });

/** A store as plainly as it can be said, written apart from the real ones. */
class Model {
  #claimedBy = 0;
  #result: { n: number } | undefined;

  look() {
    return this.#result ? { status: 'done', output: this.#result } : { status: 'free' };
  }

  claim(n: number) {
    if (this.#result) return this.look();
    if (n < this.#claimedBy) return { status: 'superseded' };
    this.#claimedBy = n;
    return { status: 'free' };
  }

  complete(n: number) {
    if (this.#result?.n === n) return { status: 'recorded' };
    if (this.#result) return { status: 'superseded', output: this.#result };
    if (n < this.#claimedBy) return { status: 'superseded', output: null };
    this.#result = { n };
    return { status: 'recorded' };
  }
}
