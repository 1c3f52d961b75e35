import fc from 'fast-check';
import { HeartbeatSchedule } from './heartbeat-schedule';

/** A schedule with a clock that the test moves. */
function scheduleAt(options: { ttlSec?: number; intervalMs?: number; random?: () => number } = {}) {
  const time = { ms: 1_000 };
  const schedule = new HeartbeatSchedule({
    clock: () => time.ms,
    random: options.random ?? (() => 0.5),
    intervalMs: options.intervalMs,
  });
  schedule.leased(options.ttlSec ?? 30, time.ms);
  return { schedule, time };
}

/** Sends one heartbeat that is answered at once. */
function acknowledge(schedule: HeartbeatSchedule, remainingSec = 30) {
  schedule.acknowledged(remainingSec, schedule.beat().sentAtMs);
}

describe('HeartbeatSchedule', () => {
  it('beats every 3 s, give or take a tenth, while all is well', () => {
    for (const x of [0, 0.5, 0.999]) {
      const { schedule } = scheduleAt({ random: () => x });
      acknowledge(schedule);
      expect(schedule.nextDelayMs()).toBeGreaterThanOrEqual(2_700);
      expect(schedule.nextDelayMs()).toBeLessThanOrEqual(3_300);
    }
  });

  it('spreads the first heartbeats of agents that started together over the interval', () => {
    expect(scheduleAt({ random: () => 0 }).schedule.nextDelayMs()).toBe(600);
    expect(scheduleAt({ random: () => 0.999 }).schedule.nextDelayMs()).toBeGreaterThan(2_900);
  });

  it('renews below 8 s of 30, and not before', () => {
    const { schedule, time } = scheduleAt();
    time.ms += 21_900;
    expect(schedule.beat().renew).toBe(false);
    time.ms += 200;
    expect(schedule.remainingMs).toBe(7_900);
    expect(schedule.beat().renew).toBe(true);
  });

  it('wakes up when the lease falls below 8 s rather than at the next regular beat', () => {
    const { schedule, time } = scheduleAt();
    acknowledge(schedule, 9);
    time.ms += 0;
    expect(schedule.nextDelayMs()).toBe(1_000);
  });

  it('does not spin when a renewed lease is still short', () => {
    const { schedule } = scheduleAt();
    acknowledge(schedule, 1);
    expect(schedule.nextDelayMs()).toBeGreaterThanOrEqual(500);
  });

  it('retries early once, then at the interval, and hurries below 8 s', () => {
    const { schedule, time } = scheduleAt({ random: () => 0.999 });
    const pauses = [1, 2, 3, 4].map(() => {
      schedule.beat();
      schedule.failed();
      return Math.round(schedule.nextDelayMs() / 100) * 100;
    });
    expect(pauses).toEqual([1_500, 3_000, 3_000, 3_000]);
    time.ms += 23_000;
    schedule.beat();
    expect(schedule.nextDelayMs()).toBeCloseTo(7_000 / 3, -1);
    time.ms += 6_000;
    schedule.beat();
    expect(schedule.nextDelayMs()).toBeCloseTo(500, -1);
    expect(schedule.beat().timeoutMs).toBe(1_000);
  });

  it('counts the lease from the sending, not the answer', () => {
    const { schedule, time } = scheduleAt();
    const { sentAtMs } = schedule.beat();
    time.ms += 2_000;
    schedule.acknowledged(30, sentAtMs);
    expect(schedule.remainingMs).toBe(28_000);
  });

  it.each([
    ['are refused at once', 0],
    ['hang until their timeout', 1],
  ])('survives nine heartbeats in a row that %s (R13)', (_, share) => {
    const { schedule, time } = scheduleAt({ random: () => 0.999 });
    acknowledge(schedule);
    for (let lost = 0; lost < 9; lost += 1) {
      time.ms += schedule.nextDelayMs();
      time.ms += schedule.beat().timeoutMs * share;
      schedule.failed();
    }
    expect(schedule.expired).toBe(false);
  });

  it.each([
    [30, 3_000, false],
    [29, 3_000, true],
    [30, 3_001, true],
    [5, 500, false],
  ])('warns about a lease of %i s with beats every %i ms: %s', (ttlSec, intervalMs, tooShort) => {
    expect(scheduleAt({ ttlSec, intervalMs }).schedule.tooShort).toBe(tooShort);
  });

  it('beats at least three times in any lease, always within it, whatever happens', () => {
    const events = fc.array(fc.constantFrom('ok', 'fail'), { maxLength: 60 });
    const property = fc.property(
      fc.integer({ min: 2, max: 3_600 }),
      fc.integer({ min: 50, max: 10_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      events,
      (ttlSec, intervalMs, x, outcomes) => {
        const { schedule, time } = scheduleAt({ ttlSec, intervalMs, random: () => x });
        for (const outcome of outcomes) {
          const delay = schedule.nextDelayMs();
          expect(delay).toBeGreaterThan(0);
          expect(delay).toBeLessThanOrEqual(Math.min(intervalMs, (ttlSec * 1000) / 3) * 1.1 + 1e-6);
          time.ms += delay;
          const beat = schedule.beat();
          expect(beat.timeoutMs).toBeGreaterThan(0);
          if (outcome === 'ok') schedule.acknowledged(ttlSec, beat.sentAtMs);
          else schedule.failed();
        }
        if (outcomes.every((outcome) => outcome === 'ok')) expect(schedule.expired).toBe(false);
      },
    );
    fc.assert(property);
  });

  it('spreads a herd that lost its registry at the same moment', () => {
    const outage = { from: 1_000, to: 13_000 };
    const returns = Array.from({ length: 300 }, (_, agent) => firstBeatAfter(outage, seeded(agent)));
    const buckets = new Map<number, number>();
    for (const { at } of returns) {
      const bucket = Math.floor((at - outage.to) / 250);
      buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
    }
    expect(Math.max(...buckets.values())).toBeLessThanOrEqual(300 / 4);
    expect(Math.max(...returns.map(({ at }) => at)) - outage.to).toBeLessThanOrEqual(3_300);
    expect(Math.max(...returns.map(({ tries }) => tries))).toBeLessThanOrEqual(7);
  });

  it('asks little while a whole lease is refused', () => {
    const { tries } = firstBeatAfter({ from: 0, to: 29_999 }, seeded(7));
    expect(tries).toBeLessThanOrEqual(20);
  });

  it('registers anew at once after a lease that ended by itself, within an interval after an outage', () => {
    const { schedule, time } = scheduleAt({ random: () => 0.5 });
    expect(schedule.returnDelayMs()).toBe(0);
    schedule.failed();
    expect(schedule.returnDelayMs()).toBe(1_500);
    schedule.acknowledged(30, time.ms);
    time.ms += 30_000;
    expect(schedule.returnDelayMs()).toBe(1_500);
  });
});

/** When an agent is heard again after an outage in which every heartbeat is refused, and how often it had tried. */
function firstBeatAfter(outage: { from: number; to: number }, random: () => number): { at: number; tries: number } {
  const time = { ms: 0 };
  const schedule = new HeartbeatSchedule({ clock: () => time.ms, random });
  schedule.leased(30, 0);
  for (let tries = 0; ; tries += 1) {
    time.ms += schedule.nextDelayMs();
    if (time.ms > outage.to) return { at: time.ms, tries };
    const { sentAtMs } = schedule.beat();
    if (time.ms >= outage.from) schedule.failed();
    else schedule.acknowledged(30, sentAtMs);
  }
}

/** Park–Miller: the same numbers in every run. */
function seeded(seed: number): () => number {
  let state = (seed + 1) * 7_919;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}
