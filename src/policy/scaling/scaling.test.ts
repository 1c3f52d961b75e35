import fc from 'fast-check';
import { NO_SERVICE, type ServiceProfile } from '../queueing';
import { arrivalCv2 } from './load';
import { scalingHint, wordingOf, type AbilityDemand, type AgentFacts } from '.';

const settings = { targetUtilisation: 0.8, targetWaitMs: null };

/** Exponential services with this mean, in 100 equally likely values. */
function exponential(meanMs: number, count: number): ServiceProfile {
  const values = Array.from({ length: 100 }, (_, n) => [-Math.log(1 - (n + 0.5) / 100) * meanMs, count / 100] as const);
  return { count, sumMs: meanMs * count, sumSquaresMs2: 2 * meanMs * meanMs * count, values };
}

function demand(perSec: number, meanMs: number, more: Partial<AbilityDemand> = {}): AbilityDemand {
  const count = Math.round(perSec * 300);
  return {
    ability: 'work',
    arrivalsPerSec1m: perSec,
    arrivalsPerSec: perSec,
    callsPerSec: perSec,
    windowSec: 300,
    arrivals: count,
    slots: Array<number>(29).fill(Math.round(perSec * 10)),
    service: exponential(meanMs, count),
    earlier: earlier(perSec, meanMs),
    ...more,
  };
}

function earlier(perSec: number, meanMs: number): NonNullable<AbilityDemand['earlier']> {
  const count = Math.round(perSec * 3_600);
  return { seconds: 3_600, arrivals: count, calls: count, peakPerSec: perSec, service: exponential(meanMs, count) };
}

function facts(abilities: AbilityDemand[], more: Partial<AgentFacts> = {}): AgentFacts {
  const instances = more.instances ?? 2;
  return {
    instances,
    lostInstances: 0,
    maxConcurrency: 4 * instances,
    bulkheadLimit: 1_000,
    inFlight: 0,
    queueDepth: 0,
    breakers: [],
    abilities,
    pulls: false,
    ...more,
  };
}

const hintOf = (one: AgentFacts) => scalingHint(one, settings);
const said = (one: AgentFacts) => {
  const { reason, advice } = wordingOf('desk', one, hintOf(one));
  return [reason, ...advice].join(' | ');
};

describe('the cause', () => {
  it('is none while the load fits', () => {
    const hint = hintOf(facts([demand(10, 400)]));
    expect(hint).toMatchObject({ cause: 'steady', instances: 2 });
    expect(hint.utilisation).toBeCloseTo(0.5, 9);
  });

  it('more messages: instances are the answer', () => {
    const one = facts([demand(30, 400, { earlier: earlier(10, 400) })]);
    // 12 erlangs at 80 % are 15 servers, 4 instances of 4.
    expect(hintOf(one)).toMatchObject({ cause: 'more_messages', instances: 4, neededServers: 15 });
    expect(said(one)).toMatch(/more messages: 10\/s → 30\/s.*Run 4 instances instead of 2/);
  });

  it('slow messages: the agent is looked at first', () => {
    const one = facts([demand(10, 1_200, { earlier: earlier(10, 400) })]);
    expect(hintOf(one)).toMatchObject({ cause: 'slow_messages', instances: 4, instancesIfFixed: 2 });
    expect(said(one)).toMatch(
      /became slow: p50 \d+ ms → \d+ ms, p99 1.7 s → 5.0 s.*cache.*merge.*fix.*2 instances would do/,
    );
  });

  it('both', () => {
    const one = facts([demand(20, 800, { earlier: earlier(10, 400) })]);
    expect(hintOf(one).cause).toBe('slow_and_more_messages');
  });

  it('neither, but too small all along', () => {
    expect(hintOf(facts([demand(30, 400)])).cause).toBe('undersized');
  });

  it('a growth that chance explains is none', () => {
    const few = { earlier: { ...earlier(0.01, 400), arrivals: 36, calls: 36 } };
    const one = facts([demand(0.02, 400, few)], { instances: 1, maxConcurrency: 1 });
    expect(hintOf(one).trend).toMatchObject({ more: false });
  });

  it('instances that are out', () => {
    const one = facts([demand(10, 400)], { instances: 1, maxConcurrency: 4, lostInstances: 1 });
    expect(hintOf(one)).toMatchObject({ cause: 'capacity_shrunk', instances: 2 });
    expect(said(one)).toMatch(/1 instance is out.*Bring back/);
  });

  it('a breaker that is not closed', () => {
    const one = facts([demand(1, 400)], { breakers: [{ ability: 'work', detail: 'open (0 % passes)' }] });
    expect(hintOf(one)).toMatchObject({ cause: 'capacity_shrunk', instances: 2 });
    expect(said(one)).toMatch(/the breaker of work is open/);
  });

  it('a bulkhead below what the instances could take: the limit is raised by Little’s law', () => {
    const one = facts([demand(10, 400)], { bulkheadLimit: 4 });
    expect(hintOf(one)).toMatchObject({ cause: 'bulkhead_too_low', instances: 2, bulkheadNeeded: 17 });
    expect(said(one)).toMatch(/Raise bulkhead.limits.desk to 17/);
  });

  it('nothing measured: what there is stays, and nobody is sure', () => {
    const nothing = demand(0, 1, { service: NO_SERVICE, windowSec: 60, earlier: null });
    expect(hintOf(facts([nothing], { instances: 3 }))).toMatchObject({ cause: 'no_data', instances: 3, confidence: 0 });
    expect(hintOf(facts([], { instances: 0, maxConcurrency: null }))).toMatchObject({ cause: 'no_data', instances: 1 });
  });
});

describe('shrinking', () => {
  it('asks what the busiest minutes of the last hour would have needed, with a margin', () => {
    expect(hintOf(facts([demand(2, 400)], { instances: 6 }))).toMatchObject({ cause: 'idle', instances: 1 });
    const peak = { earlier: { ...earlier(2, 400), peakPerSec: 20 } };
    // 8 erlangs at 60 % are 14 servers, 4 instances.
    expect(hintOf(facts([demand(2, 400, peak)], { instances: 6 }))).toMatchObject({ cause: 'idle', instances: 4 });
  });

  it('waits until it was watched for a quarter of an hour, and while anybody waits', () => {
    const young = demand(2, 400, { earlier: null });
    expect(hintOf(facts([young], { instances: 6 }))).toMatchObject({ cause: 'steady', instances: 6 });
    expect(hintOf(facts([demand(2, 400)], { instances: 6, queueDepth: 3 }))).toMatchObject({ instances: 6 });
  });

  it('does not grow back: what is recommended is steady once it is there', () => {
    const load = fc.record({
      perSec: fc.double({ min: 0.05, max: 200, noNaN: true }),
      meanMs: fc.double({ min: 5, max: 5_000, noNaN: true }),
      instances: fc.integer({ min: 1, max: 60 }),
      each: fc.integer({ min: 1, max: 16 }),
    });
    fc.assert(
      fc.property(load, ({ perSec, meanMs, instances, each }) => {
        const at = (n: number) =>
          hintOf(facts([demand(perSec, meanMs)], { instances: n, maxConcurrency: n * each, bulkheadLimit: 1e9 }));
        const first = at(instances).instances;
        expect(first).toBeGreaterThanOrEqual(1);
        expect(at(first).instances).toBe(first);
      }),
    );
  });
});

describe('instances that do not say what they take', () => {
  const undeclared = (erlangs: number, instances: number, bulkheadLimit: number) =>
    hintOf(facts([demand(erlangs, 1_000)], { instances, maxConcurrency: null, bulkheadLimit }));

  it('stay as many as they are: the limit of the platform is what is too low, or nothing is', () => {
    // 95 erlangs at 80 % are 119 servers; 30 would leave most of the 100 idle.
    expect(undeclared(95, 2, 100)).toMatchObject({ cause: 'bulkhead_too_low', instances: 2, neededServers: 119 });
    expect(undeclared(30, 12, 100)).toMatchObject({ cause: 'steady', instances: 12 });
    expect(undeclared(30, 0, 100).instances).toBe(1);
  });

  it('are not blamed for those that are out when the limit is too low for the load', () => {
    const one = facts([demand(95, 1_000)], {
      instances: 2,
      lostInstances: 1,
      maxConcurrency: null,
      bulkheadLimit: 100,
    });
    expect(hintOf(one).cause).toBe('bulkhead_too_low');
  });

  it('do not run away: followed for as long as one likes, the hint stands still', () => {
    const load = fc.record({
      erlangs: fc.double({ min: 0.05, max: 400, noNaN: true }),
      instances: fc.integer({ min: 0, max: 60 }),
      each: fc.option(fc.integer({ min: 1, max: 16 })),
      limit: fc.integer({ min: 1, max: 300 }),
    });
    fc.assert(
      fc.property(load, ({ erlangs, instances, each, limit }) => {
        const next = (n: number) => {
          const maxConcurrency = each === null || n === 0 ? null : n * each;
          const one = facts([demand(erlangs, 1_000)], { instances: n, maxConcurrency, bulkheadLimit: limit });
          return hintOf(one).instances;
        };
        // From none to the first, which says what it takes, to as many as that asks for.
        const settled = next(next(instances));
        expect(next(settled)).toBe(settled);
      }),
    );
  });
});

describe('the number', () => {
  it('grows with the load', () => {
    const rates = fc.tuple(
      fc.double({ min: 0.1, max: 100, noNaN: true }),
      fc.double({ min: 1.05, max: 4, noNaN: true }),
    );
    fc.assert(
      fc.property(rates, ([perSec, by]) => {
        const at = (rate: number) =>
          hintOf(facts([demand(rate, 300)], { instances: 1, maxConcurrency: 4, bulkheadLimit: 1e9 }));
        expect(at(perSec * by).instances).toBeGreaterThanOrEqual(at(perSec).instances);
      }),
    );
  });

  it('counts refused arrivals and repeated calls, and a minute that stands out', () => {
    const refused = demand(5, 400, { arrivalsPerSec: 30, arrivalsPerSec1m: 30 });
    const retried = demand(5, 400, { callsPerSec: 30 });
    const burst = demand(5, 400, { arrivalsPerSec1m: 30 });
    for (const one of [refused, retried]) expect(hintOf(facts([one])).load.perSec).toBe(30);
    // A minute alone counts less the standard error of its 1800 arrivals.
    expect(hintOf(facts([burst])).load.perSec).toBeCloseTo(30 - Math.sqrt(1_800) / 60, 9);
    expect(hintOf(facts([demand(5, 400, { arrivalsPerSec1m: 5.5 })])).load.perSec).toBe(5);
  });

  it('weighs abilities by how often they are asked for', () => {
    const both = facts([demand(9, 100), demand(1, 1_000, { ability: 'slow' })]);
    expect(hintOf(both).load.meanServiceMs).toBeCloseTo(190, 6);
  });
});

describe('confidence', () => {
  it('grows with the samples, and is halved where nobody says what an instance takes', () => {
    const of = (perSec: number, more: Partial<AgentFacts> = {}) =>
      hintOf(facts([demand(perSec, 4_000 / perSec)], more)).confidence;
    expect(of(0.02)).toBeLessThan(0.3);
    expect(of(10)).toBeGreaterThan(0.9);
    expect(of(10, { maxConcurrency: null })).toBe(0.5);
  });

  it('falls with the variance of the services', () => {
    const at = (spread: number) => {
      const one = demand(0.2, 20_000);
      const service = { ...one.service, sumSquaresMs2: one.service.sumSquaresMs2 * spread };
      return hintOf(facts([{ ...one, service }], { instances: 2, maxConcurrency: 2 })).confidence;
    };
    expect(at(6)).toBeLessThan(at(1));
  });

  it('is between 0 and 1, whatever is measured', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 50, noNaN: true }),
        fc.double({ min: 1, max: 1e5, noNaN: true }),
        (perSec, ms) => {
          const { confidence, instances } = hintOf(facts([demand(perSec, ms)]));
          expect(confidence).toBeGreaterThanOrEqual(0);
          expect(confidence).toBeLessThanOrEqual(1);
          expect(Number.isSafeInteger(instances) && instances >= 1).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('the rhythm of arrivals', () => {
  it('is that of Poisson unless the counts differ from it', () => {
    expect(arrivalCv2([3, 5, 4, 6, 4, 3, 5, 5, 4, 2, 7, 4, 5])).toBe(1);
    expect(arrivalCv2([1, 2])).toBe(1);
  });

  it('does not take a step in the rate for irregularity, within a slot or between two', () => {
    const steady = [10, 13, 8, 11, 9, 12, 10, 7, 11, 10, 12, 9];
    const risen = [81, 97, 90, 104, 84, 95, 88, 79, 101, 92, 86, 94];
    for (const between of [[], [50]]) expect(arrivalCv2([...steady, ...between, ...risen])).toBe(1);
    expect(arrivalCv2([...steady, 90])).toBe(1);
  });

  it('shows bursts, and not a slow drift', () => {
    expect(arrivalCv2(Array.from({ length: 30 }, (_, n) => (n % 5 === 0 ? 50 : 0)))).toBeGreaterThan(5);
    expect(arrivalCv2(Array.from({ length: 30 }, (_, n) => 40 + n))).toBeLessThan(1);
  });
});

describe('the sentence', () => {
  it('names no number that nobody measured', () => {
    const out = said(facts([], { instances: 0, lostInstances: 1, maxConcurrency: null }));
    expect(out).toMatch(/^1 instance is out; nobody carries the 0\/s that come \| Bring back what is out/);
    const asleep = said(facts([], { instances: 0, maxConcurrency: null, queueDepth: 1 }));
    expect(asleep).toContain('no instance takes work, and nothing was measured lately; 1 message waits for one');
    expect(asleep).toContain('Run 1 instance instead of 0: without one nothing is done');
    const broken = said(facts([], { breakers: [{ ability: 'work', detail: 'open (0 % passes)' }] }));
    for (const told of [out, asleep, broken]) expect(told).not.toMatch(/null|unknown|NaN/);
  });

  it('says of a load that it is not new only where the hour before is known', () => {
    expect(said(facts([demand(30, 400)]))).toContain(', and not new: ');
    expect(said(facts([demand(30, 400, { earlier: null })]))).toMatch(/too much for what there is: /);
  });
});
