import fc from 'fast-check';
import type { Clock } from '../../clock';
import { Keyspace } from '../../keys';
import { decodeEarlier, decodeNow, encodeDemand } from './demand-codec';
import { DEMAND_ACCURACY, DurationCounts, profileOf } from './duration-counts';
import { mergeDemand } from './merge-demand';
import { OwnDemand } from './own-demand';
import { RemoteDemand, type ToldDemand } from './remote-demand';

const KEY = { agentName: 'desk', agentVersion: '1.0.0', ability: 'work' };

/** A process with a clock that the test turns. */
function processOf(startSec = 1_000_000) {
  let nowSec = startSec;
  let queue = 0;
  const clock: Clock = { ...({} as Clock), monotonicMs: () => nowSec * 1_000, wall: () => new Date(nowSec * 1_000) };
  const own = new OwnDemand(clock, () => queue);
  return {
    own,
    pass: (seconds: number) => void (nowSec += seconds),
    wait: (callers: number) => void (queue = callers),
    told: () => ({ now: own.now('desk'), earlier: own.earlier('desk') }),
    merged: (others: Pick<ToldDemand, 'now' | 'earlier'>[] = []) =>
      mergeDemand([...others, { now: own.now('desk'), earlier: own.earlier('desk') }], {
        nowSec,
        sinceSec: startSec,
      })[0],
  };
}

/** Calls of this length, one after the other. */
function work(one: ReturnType<typeof processOf>, calls: number, sec: number): void {
  for (let n = 0; n < calls; n += 1) {
    one.own.arrived(KEY);
    const end = one.own.started(KEY);
    one.pass(sec);
    end();
    end();
  }
}

describe('durations', () => {
  const durations = fc.array(fc.double({ min: 0.1, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 });

  it('have exact moments, and percentiles within the stated accuracy', () => {
    fc.assert(
      fc.property(durations, (values) => {
        const counts = new DurationCounts();
        values.forEach((value) => counts.add(value));
        const { count, sumMs, values: buckets } = profileOf(counts.digest());
        expect(count).toBe(values.length);
        expect(sumMs / values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 6);
        const sorted = values.toSorted((a, b) => a - b);
        let seen = 0;
        for (const [valueMs, times] of buckets)
          for (let n = 0; n < times; n += 1)
            expect(Math.abs(valueMs / sorted[seen++]! - 1)).toBeLessThanOrEqual(DEMAND_ACCURACY + 1e-9);
      }),
    );
  });

  it('are the same in whichever order they are merged', () => {
    fc.assert(
      fc.property(durations, durations, (a, b) => {
        const of = (values: number[]) => {
          const counts = new DurationCounts();
          values.forEach((value) => counts.add(value));
          return counts;
        };
        const [one, two] = [of(a), of(b)];
        one.merge(of(b).digest());
        two.merge(of(a).digest());
        expect(one.digest().buckets).toEqual(two.digest().buckets);
        expect(one.total).toBe(a.length + b.length);
      }),
    );
  });
});

describe('what is asked of an agent', () => {
  it('are arrivals and calls per second, and how long they took', () => {
    const one = processOf();
    work(one, 60, 2);
    expect(one.merged()).toMatchObject({ version: '1.0.0', ability: 'work', arrivals: 60, earlier: null });
    expect(one.merged()!.arrivalsPerSec).toBeCloseTo(0.5, 6);
    expect(one.merged()!.callsPerSec).toBeCloseTo(0.5, 6);
    expect(one.merged()!.service).toMatchObject({ count: 60, sumMs: 120_000 });
  });

  it('shows the last minute beside the last five', () => {
    const one = processOf();
    one.pass(240);
    work(one, 60, 1);
    const { arrivalsPerSec, arrivalsPerSec1m, slots } = one.merged()!;
    expect(arrivalsPerSec1m).toBeCloseTo(1, 1);
    expect(arrivalsPerSec).toBeCloseTo(0.2, 1);
    expect(slots.slice(-6).reduce((sum, n) => sum + n, 0)).toBe(60);
  });

  it('becomes the hour before after five minutes, and is forgotten after that', () => {
    const one = processOf();
    work(one, 300, 1);
    one.pass(400);
    one.own.advance();
    expect(one.merged()).toMatchObject({ arrivals: 0, service: { count: 0 } });
    expect(one.merged()!.earlier).toMatchObject({ arrivals: 300, calls: 300, service: { count: 300, sumMs: 300_000 } });
    one.pass(4_200);
    expect(one.own.advance()).toEqual(['desk']);
    expect(one.merged()).toBeUndefined();
  });

  it('keeps its sums while everything ages', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 120 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(pauses, (each) => {
        const one = processOf();
        each.forEach((seconds) => {
          one.own.arrived(KEY);
          one.pass(seconds);
        });
        one.own.advance();
        const [now, earlier] = [one.own.now('desk')!, one.own.earlier('desk')];
        const recent = now.series[0]!.slots.reduce((sum, [, arrivals]) => sum + arrivals, 0);
        const before = earlier?.series[0]!.blocks.reduce((sum, { arrivals }) => sum + arrivals, 0) ?? 0;
        // Nothing is over 65 minutes old yet, unless many long pauses add up to that.
        if (each.reduce((sum, seconds) => sum + seconds, 0) < 3_900) expect(recent + before).toBe(each.length);
      }),
    );
  });

  it('adds up over processes, whenever each of them started', () => {
    const [one, two] = [processOf(), processOf()];
    work(one, 30, 1);
    work(two, 60, 0.5);
    const merged = one.merged([two.told()])!;
    expect(merged).toMatchObject({ arrivals: 90, service: { count: 90, sumMs: 60_000 } });
    expect(merged.arrivalsPerSec).toBeCloseTo(3, 6);
  });

  it('takes the end of a call where nobody saw it start, and not twice where somebody did', () => {
    const one = processOf();
    one.own.finished(KEY, 700);
    expect(one.merged()!.service).toMatchObject({ count: 1, sumMs: 700 });
    const other = processOf();
    work(other, 1, 1);
    other.own.finished(KEY, 700);
    expect(other.merged()!.service).toMatchObject({ count: 1, sumMs: 1_000 });
  });
});

describe('telling others', () => {
  it('is news only when something changed', () => {
    const one = processOf();
    one.own.arrived(KEY);
    expect(one.own.changed()).toEqual([{ name: 'desk', now: true, earlier: true }]);
    expect(one.own.changed()).toEqual([]);
    one.wait(3);
    expect(one.own.changed()).toEqual([{ name: 'desk', now: true, earlier: false }]);
    expect(one.own.now('desk')!.queue).toBe(3);
    one.own.forgetTold(['desk']);
    expect(one.own.changed()).toHaveLength(1);
  });

  it('reads back what was written, and nothing else', () => {
    const one = processOf();
    work(one, 400, 1);
    const { now, earlier } = one.told();
    expect(decodeNow(Buffer.from(encodeDemand(now!)))).toEqual(now);
    expect(decodeEarlier(Buffer.from(encodeDemand(earlier!)))).toEqual(earlier);
    for (const text of ['', 'null', '{"v":2}', '{"v":1,"series":[{}]}', '{"v":1,"sinceSec":1,"queue":-1,"series":7}'])
      expect([decodeNow(Buffer.from(text)), decodeEarlier(Buffer.from(text))]).toEqual([null, null]);
  });

  it('stays small: an ability asked for all the time costs under 2 KB a second', () => {
    const one = processOf();
    work(one, 3_000, 0.1);
    expect(encodeDemand(one.told().now!).length).toBeLessThan(2_000);
  });
});

describe('other processes', () => {
  const keys = new Keyspace('/p', 'default');
  const warned: object[] = [];
  const logger = {
    debug: () => undefined,
    info: () => undefined,
    error: () => undefined,
    warn: (facts: object) => void warned.push(facts),
  };
  const entryOf = (value: string) => ({ value: Buffer.from(value), modRevision: 1, version: 1, lease: '0' }) as never;
  const keyOf = (kind: string, process: string) => keys.under(keys.demand, kind, process, 'desk');

  it('are counted after they have gone, but for who waited there', () => {
    const remote = new RemoteDemand({ keys, logger, ownProcessId: 'me' });
    const one = processOf();
    work(one, 400, 1);
    const { now, earlier } = one.told();
    remote.apply([
      { key: keyOf('now', 'p1'), entry: entryOf(encodeDemand(now!)) },
      { key: keyOf('earlier', 'p1'), entry: entryOf(encodeDemand(earlier!)) },
      { key: keyOf('now', 'me'), entry: entryOf(encodeDemand(now!)) },
    ]);
    expect(remote.told('desk')).toEqual([{ now, earlier, alive: true }]);
    remote.apply([
      { key: keyOf('now', 'p1'), entry: null },
      { key: keyOf('earlier', 'p1'), entry: null },
    ]);
    expect(remote.told('desk')).toEqual([{ now, earlier, alive: false }]);
  });

  it('that write nonsense are passed over', () => {
    const remote = new RemoteDemand({ keys, logger, ownProcessId: 'me' });
    remote.apply([{ key: keyOf('now', 'p1'), entry: entryOf('{') }]);
    expect(remote.told('desk')).toEqual([]);
    expect(warned).toHaveLength(1);
  });
});
