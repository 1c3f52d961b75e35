import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { ReachError } from '../protocol/reach-error';
import { Bulkheads, hasNoShare, type BulkheadsOptions } from './bulkhead';
import { bulkheadLimit } from './bulkhead-limit';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const never = new AbortController().signal;
const KEY = 'refund';

/** Shares that the test turns. */
function dial(initial: number) {
  const listeners = new Set<() => void>();
  let share = initial;
  return {
    share: () => share,
    onChange: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    turn: (next: number) => {
      share = next;
      for (const listener of listeners) listener();
    },
  };
}

function open(options: Partial<BulkheadsOptions> = {}): Bulkheads {
  return new Bulkheads({ queueLimit: 10, random: () => 0.5, ...options });
}
const enter = (
  bulkheads: Bulkheads,
  { limit = 2, patienceMs = 0, signal = never, caller = undefined as string | undefined } = {},
) => bulkheads.enter({ key: KEY, limit, patienceMs, signal, ...(caller !== undefined && { caller }) });

async function refusal(promise: Promise<unknown>): Promise<ReachError> {
  const caught: unknown = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (caught instanceof ReachError) return caught;
  throw new Error(`expected a refusal, not ${String(caught)}`);
}

describe('a bulkhead', () => {
  it('admits up to its limit, refuses the next at once and says what to do', async () => {
    const bulkheads = open();
    const first = await enter(bulkheads);
    await enter(bulkheads);
    expect(bulkheads.isFull(KEY, 2)).toBe(true);
    expect(bulkheads.isFull(KEY, 3)).toBe(false);
    const error = await refusal(enter(bulkheads));
    expect(error).toMatchObject({ code: 'overloaded', options: { received: 'no', retryAfterMs: 500 } });
    expect(error.message).toBe(
      "refund takes 2 calls at once; this worker's share of 2 is taken with 0 waiting. " +
        'Try again in 500 ms; to let more through, add instances or raise the limit (bulkhead.limits, or max_concurrency where the agent says it)',
    );
    first();
    first();
    expect(bulkheads.inUse(KEY)).toBe(1);
    await enter(bulkheads);
    expect(bulkheads.inUse(KEY)).toBe(2);
    expect(bulkheads.inUse('other')).toBe(0);
  });

  it('admits waiters in the order of arrival, and no newcomer before them', async () => {
    const bulkheads = open();
    const held = [await enter(bulkheads), await enter(bulkheads)];
    const order: number[] = [];
    const waiting = [1, 2, 3].map((n) =>
      enter(bulkheads, { patienceMs: 500 }).then((release) => {
        order.push(n);
        return release;
      }),
    );
    expect(bulkheads.waiting(KEY)).toBe(3);
    held[0]!();
    expect((await refusal(enter(bulkheads))).code).toBe('overloaded');
    (await waiting[0]!)();
    (await waiting[1]!)();
    await waiting[2];
    expect(order).toEqual([1, 2, 3]);
    expect(getEventListeners(never, 'abort')).toEqual([]);
    expect([bulkheads.inUse(KEY), bulkheads.waiting(KEY)]).toEqual([2, 0]);
  });

  it('lets nobody wait longer than patience allows, nor more than the queue holds', async () => {
    const bulkheads = open({ queueLimit: 1 });
    await enter(bulkheads, { limit: 1 });
    const patient = refusal(enter(bulkheads, { limit: 1, patienceMs: 500 }));
    expect((await refusal(enter(bulkheads, { limit: 1, patienceMs: 500 }))).message).toContain('1 waiting');
    jest.advanceTimersByTime(499);
    expect(bulkheads.waiting(KEY)).toBe(1);
    jest.advanceTimersByTime(1);
    expect((await patient).message).toContain('none came free within 500 ms');
    expect(bulkheads.waiting(KEY)).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits for longer than a timer can, without giving up at once', async () => {
    const bulkheads = open();
    const release = await enter(bulkheads, { limit: 1 });
    const waiting = enter(bulkheads, { limit: 1, patienceMs: Number.POSITIVE_INFINITY });
    jest.advanceTimersByTime(86_400_000);
    release();
    await waiting;
  });

  it('an aborted signal refuses with its reason and leaves the queue', async () => {
    const bulkheads = open();
    await enter(bulkheads, { limit: 1 });
    const abort = new AbortController();
    const waiting = enter(bulkheads, { limit: 1, patienceMs: 500, signal: abort.signal });
    const reason = new Error('cancelled by the caller');
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(enter(bulkheads, { signal: abort.signal })).rejects.toBe(reason);
    expect([bulkheads.inUse(KEY), bulkheads.waiting(KEY), jest.getTimerCount()]).toEqual([1, 0, 0]);
  });

  it('a share that shrinks admits nobody until what is in use fits; one that grows wakes waiters', async () => {
    const shares = dial(3);
    const bulkheads = open({ shares });
    const held = [await enter(bulkheads), await enter(bulkheads), await enter(bulkheads)];
    shares.turn(1);
    const waiting = [enter(bulkheads, { patienceMs: 500 }), enter(bulkheads, { patienceMs: 500 })];
    held[0]!();
    held[1]!();
    expect([bulkheads.inUse(KEY), bulkheads.waiting(KEY)]).toEqual([1, 2]);
    shares.turn(2);
    await waiting[0];
    expect([bulkheads.inUse(KEY), bulkheads.waiting(KEY)]).toEqual([2, 1]);
    held[2]!();
    await waiting[1];
    bulkheads.close();
  });

  it('a share that grew without a word serves those who wait before a newcomer', async () => {
    let share = 1;
    const bulkheads = open({ shares: { share: () => share, onChange: () => () => undefined } });
    await enter(bulkheads);
    const waiting = enter(bulkheads, { patienceMs: 500 });
    share = 2;
    expect((await refusal(enter(bulkheads))).code).toBe('overloaded');
    await waiting;
    expect(bulkheads.inUse(KEY)).toBe(2);
  });

  it('that is made of places has the share of them, whatever its own would be', async () => {
    // Remainders fall to workers by key: this one has none of the agent's only permit, and the one place that there is.
    const shares = {
      share: (_limit: number, key: string) => (key === 'refund/1.0.0/a' ? 1 : 0),
      onChange: dial(0).onChange,
    };
    const bulkheads = open({ shares });
    const places = [
      { key: 'refund/1.0.0/a', limit: 1 },
      { key: 'refund/1.0.0/b', limit: 1 },
    ];
    const ask = (limit: number) => bulkheads.enter({ key: KEY, limit, places, patienceMs: 0, signal: never });
    const release = await ask(2);
    expect((await refusal(ask(2))).message).toContain("this worker's share of 1 is taken");
    release();
    // A limit by hand that is lower holds as well.
    expect(hasNoShare(await refusal(ask(1)))).toBe(true);
  });

  it('leaves room for what others still have there beyond their shares, and for no more', async () => {
    let elsewhere = 2;
    const bulkheads = open({ shares: dial(1) });
    const inFlight = () => elsewhere + bulkheads.inUse(KEY);
    const ask = () => bulkheads.enter({ key: KEY, limit: 2, inFlight, patienceMs: 0, signal: never });
    expect(hasNoShare(await refusal(ask()))).toBe(true);
    elsewhere = 1;
    const release = await ask();
    expect((await refusal(ask())).code).toBe('overloaded');
    release();
    // A count that lags by as much as one call of ours shows nobody else's.
    elsewhere = 0;
    (await ask())();
    expect(bulkheads.inUse(KEY)).toBe(0);
  });

  it('a higher limit lets waiters in at once', async () => {
    const bulkheads = open();
    await enter(bulkheads, { limit: 1 });
    const waiting = enter(bulkheads, { limit: 1, patienceMs: 500 });
    await enter(bulkheads, { limit: 3 });
    await waiting;
    expect(bulkheads.inUse(KEY)).toBe(3);
  });

  it('a worker without a share refuses at once, patience or not', async () => {
    const bulkheads = open({ shares: dial(0) });
    const error = await refusal(enter(bulkheads, { patienceMs: 10_000 }));
    expect(error.options.retryAfterMs).toBe(500);
    expect(error.message).toContain("none of them are this worker's to give");
  });
});

describe('the backlog', () => {
  it('counts each named caller once, until it is admitted or a minute has passed', async () => {
    let nowMs = 0;
    const bulkheads = open({ monotonicMs: () => nowMs });
    const release = await enter(bulkheads, { limit: 1 });
    for (const caller of ['a', 'b', 'a', 'c']) await refusal(enter(bulkheads, { limit: 1, caller }));
    expect(bulkheads.backlog(KEY)).toBe(3);
    release();
    (await enter(bulkheads, { limit: 1, caller: 'b' }))();
    (await enter(bulkheads, { limit: 1, caller: 'stranger' }))();
    expect(bulkheads.backlog(KEY)).toBe(2);
    nowMs = 60_000;
    expect(bulkheads.backlog(KEY)).toBe(0);
  });

  it('takes an unnamed admission for that of an unnamed caller turned away before', async () => {
    const bulkheads = open();
    const release = await enter(bulkheads, { limit: 1 });
    for (let n = 0; n < 3; n++) await refusal(enter(bulkheads, { limit: 1 }));
    release();
    (await enter(bulkheads, { limit: 1 }))();
    expect(bulkheads.backlog(KEY)).toBe(2);
  });

  it('keeps durable callers away for as long as the backlog takes, spread by half', async () => {
    let nowMs = 0;
    let chance = 0.5;
    const bulkheads = open({ monotonicMs: () => nowMs, random: () => chance });
    expect(bulkheads.retryDelayMs(KEY, 4)).toBe(500);
    // Calls of 2 s, so many that the mean has come near.
    for (let n = 0; n < 200; n++) {
      const release = await enter(bulkheads, { limit: 4 });
      nowMs += 2_000;
      release();
    }
    for (let n = 0; n < 4; n++) await enter(bulkheads, { limit: 4 });
    for (let n = 0; n < 20; n++) await refusal(enter(bulkheads, { limit: 4, caller: `r${n}` }));
    expect(bulkheads.retryDelayMs(KEY, 4)).toBeCloseTo(10_000, -2);
    chance = 0;
    expect(bulkheads.retryDelayMs(KEY, 4)).toBeCloseTo(5_000, -2);
    chance = 0.999_999;
    expect(bulkheads.retryDelayMs(KEY, 4)).toBeCloseTo(15_000, -2);
    for (let n = 0; n < 10_000; n++) await refusal(enter(bulkheads, { limit: 4, caller: `r${n}` }));
    expect(bulkheads.backlog(KEY)).toBe(10_000);
    expect(bulkheads.retryDelayMs(KEY, 4)).toBe(90_000);
  });

  it('ten thousand durable callers cost few polls per call that is let through', async () => {
    let nowMs = 0;
    const random = seeded(7);
    const bulkheads = open({ monotonicMs: () => nowMs, random });
    const due = Array.from({ length: 10_000 }, (_, n) => ({ caller: `r${n}`, atMs: 0 }));
    let ends: { atMs: number; release: () => void }[] = [];
    let polls = 0;
    for (; nowMs < 120_000; nowMs += 100) {
      ends = ends.filter(({ atMs, release }) => atMs > nowMs || void release());
      for (const one of due) {
        if (one.atMs > nowMs) continue;
        polls += 1;
        const release = await enter(bulkheads, { limit: 8, caller: one.caller }).catch(() => null);
        one.atMs = release === null ? nowMs + bulkheads.retryDelayMs(KEY, 8) : Number.POSITIVE_INFINITY;
        if (release !== null) ends.push({ atMs: nowMs + 1_000, release });
      }
    }
    const served = due.filter(({ atMs }) => atMs === Number.POSITIVE_INFINITY).length;
    expect(served).toBeGreaterThan(800);
    // Each comes about once a minute, but for the first ones, who could not know yet.
    expect(polls).toBeLessThan(10_000 * 5);
  });
});

describe('permits (property)', () => {
  type Step =
    | { do: 'enter'; patienceMs: number }
    | { do: 'release' | 'release-twice' | 'abort'; which: number }
    | { do: 'pass'; ms: number }
    | { do: 'share'; share: number };
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('enter' as const), patienceMs: fc.constantFrom(0, 50, 200) }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constantFrom('release', 'release-twice', 'abort'), which: fc.nat(20) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(120) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('share' as const), share: fc.nat(4) }) },
  );

  it('are conserved, given out in order, and no waiter is lost', async () => {
    await fc.assert(fc.asyncProperty(fc.nat(4), fc.array(step, { maxLength: 60 }), play), { numRuns: 300 });
  });

  async function play(firstShare: number, steps: Step[]): Promise<void> {
    const shares = dial(firstShare);
    const bulkheads = open({ shares, queueLimit: 5 });
    const calls: { state: 'waiting' | 'held' | 'over'; release?: () => void; abort: AbortController }[] = [];
    let held = 0;
    const settle = async () => {
      // Enough turns of the microtask queue for every admission and refusal to be seen.
      for (let turn = 0; turn < 8; turn++) await Promise.resolve();
    };
    const begin = (patienceMs: number) => {
      const abort = new AbortController();
      const call: (typeof calls)[number] = { state: 'waiting', abort };
      calls.push(call);
      enter(bulkheads, { limit: 9, patienceMs, signal: abort.signal }).then(
        (release) => {
          const first = calls.find(({ state }) => state === 'waiting');
          expect(call).toBe(first);
          Object.assign(call, { state: 'held', release });
          held += 1;
        },
        () => (call.state = 'over'),
      );
    };
    const releaseOne = (which: number, twice: boolean) => {
      const holders = calls.filter(({ state }) => state === 'held');
      const call = holders[which % Math.max(1, holders.length)];
      if (call === undefined) return;
      call.state = 'over';
      held -= 1;
      call.release!();
      if (twice) call.release!();
    };
    for (const action of steps) {
      const before = bulkheads.inUse(KEY);
      if (action.do === 'enter') begin(action.patienceMs);
      else if (action.do === 'pass') jest.advanceTimersByTime(action.ms);
      else if (action.do === 'share') shares.turn(action.share);
      else if (action.do === 'abort') calls.filter(({ state }) => state === 'waiting')[action.which]?.abort.abort();
      else releaseOne(action.which, action.do === 'release-twice');
      await settle();
      expect(bulkheads.inUse(KEY)).toBe(held);
      // More than the share only while it shrank below what was in use already.
      expect(held).toBeLessThanOrEqual(Math.max(shares.share(), before));
      expect(bulkheads.waiting(KEY)).toBe(calls.filter(({ state }) => state === 'waiting').length);
      expect(bulkheads.waiting(KEY) > 0 && held < shares.share()).toBe(false);
    }
    shares.turn(4);
    for (let n = 0; n <= calls.length; n++) {
      await settle();
      releaseOne(0, false);
    }
    expect([bulkheads.inUse(KEY), bulkheads.waiting(KEY), held, jest.getTimerCount()]).toEqual([0, 0, 0, 0]);
    expect(calls.every(({ state }) => state === 'over')).toBe(true);
  }
});

describe('the size of a bulkhead', () => {
  it.each([
    [{ byHand: 7, maxConcurrency: 3, qps: 50, p99Ms: 1_500 }, 7],
    [{ qps: 50, p99Ms: 1_500 }, 75],
    [{ maxConcurrency: 40, qps: 50, p99Ms: 1_500 }, 40],
    [{ maxConcurrency: 200, qps: 50, p99Ms: 1_500 }, 75],
    [{ maxConcurrency: 12 }, 12],
    [{ qps: 0.1, p99Ms: 30_000 }, 3],
    [{ qps: 0.01, p99Ms: 10 }, 1],
    [{ qps: 50 }, 100],
    [{ p99Ms: 50, fallback: 20 }, 20],
    [{ maxConcurrency: null, qps: null, p99Ms: null, byHand: null }, 100],
    [{ maxConcurrency: 0, fallback: 5 }, 5],
    [{ fallback: Number.NaN }, 100],
  ])('%j → %i', (facts, expected) => {
    expect(bulkheadLimit(facts)).toBe(expected);
  });

  it('is a whole number of at least 1 whatever is said (property)', () => {
    const odd = fc.option(fc.double(), { nil: null });
    fc.assert(
      fc.property(
        fc.record({ byHand: odd, maxConcurrency: odd, qps: odd, p99Ms: odd, fallback: fc.double() }),
        (facts) => {
          const limit = bulkheadLimit(facts);
          expect(Number.isSafeInteger(limit) && limit >= 1).toBe(true);
        },
      ),
    );
  });
});

/** Mulberry32: the same numbers each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
