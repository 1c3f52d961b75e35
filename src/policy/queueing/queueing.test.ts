import fc from 'fast-check';
import {
  cv2,
  erlangB,
  erlangC,
  fewestServers,
  gammaCdf,
  kingmanBoundMs,
  meanMs,
  meanWaitMs,
  mixProfiles,
  normalCdf,
  quantileMs,
  waitQuantileMs,
  wilsonUpper,
  type Queue,
  type ServiceProfile,
} from '.';

const servers = fc.integer({ min: 1, max: 400 });
const load = fc.double({ min: 0.001, max: 500, noNaN: true });
const share = fc.double({ min: 0.01, max: 0.99, noNaN: true });

describe('Erlang', () => {
  // B from the tables of R. B. Cooper and of the ITU's Teletraffic Engineering Handbook; C by C = B / (1 − ρ (1 − B)).
  it.each([
    [1, 1, 0.5],
    [2, 1, 0.2],
    [5, 3, 0.11005],
    [10, 5, 0.018385],
    [10, 10, 0.214582],
    [20, 15, 0.045593],
    [100, 84.064, 0.01],
  ])('blocks with %d servers and %d erlangs a share of %d', (c, a, expected) => {
    expect(erlangB(c, a)).toBeCloseTo(expected, 4);
  });

  it.each([
    [1, 0.7, 0.7],
    [2, 1, 1 / 3],
    [5, 4, 0.554113],
    [10, 5, 0.036105],
    [10, 8, 0.40918],
  ])('lets with %d servers and %d erlangs a share of %d wait', (c, a, expected) => {
    expect(erlangC(c, a)).toBeCloseTo(expected, 5);
  });

  it('agrees with the sum over states, also where powers and factorials overflow', () => {
    // log-sum-exp of a^k / k!
    const direct = (c: number, a: number) => {
      const terms = [0];
      for (let k = 1; k <= c; k += 1) terms.push(terms[k - 1]! + Math.log(a) - Math.log(k));
      const top = Math.max(...terms);
      return Math.exp(terms[c]! - top) / terms.reduce((sum, term) => sum + Math.exp(term - top), 0);
    };
    for (const [c, a] of [
      [50, 40],
      [1_000, 990],
      [1_000, 1_100],
      [20_000, 19_800],
    ] as const)
      expect(erlangB(c, a) / direct(c, a)).toBeCloseTo(1, 8);
  });

  it('is a probability; falls with every server and grows with the load', () => {
    fc.assert(
      fc.property(servers, load, (c, a) => {
        for (const share of [erlangB, erlangC]) {
          expect(share(c, a)).toBeGreaterThanOrEqual(0);
          expect(share(c, a)).toBeLessThanOrEqual(1);
          expect(share(c + 1, a)).toBeLessThanOrEqual(share(c, a));
          expect(share(c, a * 1.01)).toBeGreaterThanOrEqual(share(c, a));
        }
        expect(erlangC(c, a)).toBeGreaterThanOrEqual(erlangB(c, a));
      }),
    );
  });

  it('has nobody wait without load, and everybody without servers for it', () => {
    expect([erlangB(3, 0), erlangC(3, 0), erlangC(3, 3), erlangB(0, 2)]).toEqual([0, 0, 1, 1]);
  });
});

const queue = fc
  .record({
    servers,
    utilisation: fc.double({ min: 0.02, max: 0.98, noNaN: true }),
    meanServiceMs: fc.double({ min: 1, max: 60_000, noNaN: true }),
    arrivalCv2: fc.double({ min: 0, max: 10, noNaN: true }),
    serviceCv2: fc.double({ min: 0, max: 10, noNaN: true }),
  })
  .map(({ utilisation, ...rest }): Queue => ({
    ...rest,
    arrivalsPerMs: (utilisation * rest.servers) / rest.meanServiceMs,
  }));

describe('waiting', () => {
  const single = { arrivalsPerMs: 0.008, meanServiceMs: 100, servers: 1, arrivalCv2: 1 };

  it('is that of Pollaczek and Khinchine for one server', () => {
    for (const serviceCv2 of [0, 1, 4])
      expect(meanWaitMs({ ...single, serviceCv2 })).toBeCloseTo((0.8 / 0.2) * 100 * ((1 + serviceCv2) / 2), 6);
  });

  it('is never more than Kingman allows', () => {
    fc.assert(
      fc.property(queue, (one) => {
        // For one server and Poisson arrivals the bound holds for the truth; the approximation is the truth there.
        const alone = { ...one, servers: 1, arrivalsPerMs: one.arrivalsPerMs / one.servers, arrivalCv2: 1 };
        expect(meanWaitMs(alone)).toBeLessThanOrEqual(kingmanBoundMs(alone) * (1 + 1e-9));
      }),
    );
  });

  it('never is negative, grows with load and irregularity, and falls with servers', () => {
    fc.assert(
      fc.property(queue, share, (one, quantile) => {
        for (const wait of [meanWaitMs, (q: Queue) => waitQuantileMs(q, quantile)]) {
          expect(wait(one)).toBeGreaterThanOrEqual(0);
          expect(wait({ ...one, servers: one.servers + 1 })).toBeLessThanOrEqual(wait(one));
          expect(wait({ ...one, arrivalsPerMs: one.arrivalsPerMs * 1.01 })).toBeGreaterThanOrEqual(wait(one));
          expect(wait({ ...one, serviceCv2: one.serviceCv2 + 1 })).toBeGreaterThanOrEqual(wait(one));
        }
        expect(waitQuantileMs(one, 0.99)).toBeGreaterThanOrEqual(waitQuantileMs(one, quantile));
      }),
    );
  });

  it('has no end where more comes than is served', () => {
    const over = { ...single, arrivalsPerMs: 0.01, serviceCv2: 1 };
    expect([meanWaitMs(over), waitQuantileMs(over, 0.95), kingmanBoundMs(over)]).toEqual([
      Infinity,
      Infinity,
      Infinity,
    ]);
    expect(meanWaitMs({ ...single, arrivalsPerMs: 0, serviceCv2: 1 })).toBe(0);
  });
});

describe('the fewest servers', () => {
  it('hold both targets, and one less does not', () => {
    const targets = fc.record({
      utilisation: fc.double({ min: 0.3, max: 0.95, noNaN: true }),
      waitP95Ms: fc.double({ min: 1, max: 10_000, noNaN: true }),
    });
    fc.assert(
      fc.property(queue, targets, (one, target) => {
        const holds = (n: number) =>
          one.arrivalsPerMs * one.meanServiceMs <= n * target.utilisation &&
          waitQuantileMs({ ...one, servers: n }, 0.95) <= target.waitP95Ms;
        const needed = fewestServers(one, target);
        expect(holds(needed)).toBe(true);
        if (needed > 1) expect(holds(needed - 1)).toBe(false);
        expect(fewestServers({ ...one, arrivalsPerMs: one.arrivalsPerMs * 1.1 }, target)).toBeGreaterThanOrEqual(
          needed,
        );
      }),
    );
  });

  it('is one without load', () => {
    const idle = { arrivalsPerMs: 0, meanServiceMs: 10, arrivalCv2: 1, serviceCv2: 1 };
    expect(fewestServers(idle, { utilisation: 0.8, waitP95Ms: 1 })).toBe(1);
  });
});

describe('distributions', () => {
  it('normal: values of the tables', () => {
    for (const [z, p] of [
      [0, 0.5],
      [1, 0.841345],
      [-1.96, 0.024998],
      [2.5758, 0.995],
      [-4, 0.0000317],
    ] as const)
      expect(normalCdf(z)).toBeCloseTo(p, 5);
  });

  it('gamma: that of the exponential and of Erlang’s distribution within 0.02', () => {
    const erlang = (k: number, x: number) => {
      let [term, sum] = [1, 1];
      for (let n = 1; n < k; n += 1) sum += term *= x / n;
      return 1 - Math.exp(-x) * sum;
    };
    for (const k of [1, 2, 5, 20])
      for (const x of [0.1, 0.5, 1, 2, 5, 20, 30]) {
        const error = Math.abs(gammaCdf(x * 7, { shape: k, scale: 7 }) - erlang(k, x));
        expect(error).toBeLessThan(0.02);
      }
  });

  it('gamma: grows with x and falls with the shape', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.1, max: 200, noNaN: true }),
        fc.double({ min: 0, max: 400, noNaN: true }),
        (shape, x) => {
          const at = (y: number, k: number) => gammaCdf(y, { shape: k, scale: 1 });
          expect(at(x, shape)).toBeGreaterThanOrEqual(0);
          expect(at(x + 1, shape)).toBeGreaterThanOrEqual(at(x, shape) - 1e-6);
          expect(at(x, shape + 1)).toBeLessThanOrEqual(at(x, shape) + 1e-6);
        },
      ),
    );
  });

  it('Wilson: a bound that narrows with the cases', () => {
    expect(wilsonUpper(0, 0)).toBe(1);
    expect(wilsonUpper(0, 51)).toBeGreaterThan(0.05);
    expect(wilsonUpper(0, 52)).toBeLessThan(0.05);
    fc.assert(
      fc.property(share, fc.integer({ min: 1, max: 10_000 }), (p, n) => {
        expect(wilsonUpper(p, n)).toBeGreaterThanOrEqual(p);
        expect(wilsonUpper(p, n)).toBeLessThanOrEqual(1);
        expect(wilsonUpper(p, n + 1)).toBeLessThanOrEqual(wilsonUpper(p, n));
      }),
    );
  });
});

describe('profiles', () => {
  const profileOf = (values: number[]): ServiceProfile => ({
    count: values.length,
    sumMs: values.reduce((sum, value) => sum + value, 0),
    sumSquaresMs2: values.reduce((sum, value) => sum + value * value, 0),
    values: values.toSorted((a, b) => a - b).map((value) => [value, 1]),
  });

  it('have the moments and the nearest ranks of what was measured', () => {
    const one = profileOf([10, 20, 30, 40]);
    expect(meanMs(one)).toBe(25);
    expect(cv2(one)).toBeCloseTo(500 / 3 / 625, 10);
    expect([0, 0.25, 0.5, 0.51, 1].map((q) => quantileMs(one, q))).toEqual([10, 10, 20, 30, 40]);
  });

  it('mixed by weight are as if each had been measured so often', () => {
    const mixed = mixProfiles([
      { profile: profileOf([10, 10]), weight: 3 },
      { profile: profileOf([100]), weight: 2 },
    ]);
    expect([mixed.count, meanMs(mixed), quantileMs(mixed, 0.75), quantileMs(mixed, 0.76)]).toEqual([8, 32.5, 10, 100]);
    expect(mixProfiles([])).toEqual({ count: 0, sumMs: 0, sumSquaresMs2: 0, values: [] });
  });

  it('of nothing have neither', () => {
    const none = profileOf([]);
    expect([meanMs(none), cv2(none), quantileMs(none, 0.5)]).toEqual([null, null, null]);
  });
});
