/**
 * The formulas against a simulated queue. Error bounds: M/M/c is exact, so 10 % is the noise of 300,000 arrivals; Allen–Cunneen for
 * M/G/c within 15 % of the mean wait, and its exponential tail within 30 % of the 95th percentile, log-normal services with a
 * squared coefficient of variation of up to 4 included.
 */
import { fewestServers, meanWaitMs, waitQuantileMs } from '../../src/policy/queueing';
import { exponential, lognormal, seeded, simulateQueue } from './queue-simulation';

const MEAN_MS = 100;
const ARRIVALS = 300_000;

const CASES = [
  { servers: 1, utilisation: 0.5 },
  { servers: 1, utilisation: 0.8 },
  { servers: 4, utilisation: 0.8 },
  { servers: 10, utilisation: 0.9 },
  { servers: 40, utilisation: 0.9 },
];

function simulate(
  { servers, utilisation }: (typeof CASES)[number],
  service: (random: () => number) => number,
  seed = 7,
) {
  const random = seeded(seed);
  const gapMs = MEAN_MS / (utilisation * servers);
  return simulateQueue({
    servers,
    arrivals: ARRIVALS,
    nextArrival: () => exponential(random, gapMs),
    nextService: () => service(random),
  });
}

const queueOf = ({ servers, utilisation }: (typeof CASES)[number], serviceCv2: number) => ({
  servers,
  arrivalsPerMs: (utilisation * servers) / MEAN_MS,
  meanServiceMs: MEAN_MS,
  arrivalCv2: 1,
  serviceCv2,
});

const errorOf = (found: number, truth: number) => Math.abs(found - truth) / truth;

describe.each(CASES)('M/M/$servers at $utilisation', (one) => {
  it('waits as Erlang says', () => {
    const simulated = simulate(one, (random) => exponential(random, MEAN_MS));
    expect(errorOf(meanWaitMs(queueOf(one, 1)), simulated.mean)).toBeLessThan(0.1);
    expect(errorOf(waitQuantileMs(queueOf(one, 1), 0.95), simulated.quantile(0.95))).toBeLessThan(0.1);
  });
});

describe.each(CASES.flatMap((one) => [0, 0.25, 4].map((cv2) => ({ ...one, cv2 }))))(
  'M/G/$servers at $utilisation, cv² $cv2',
  ({ cv2, ...one }) => {
    it('waits about as Allen and Cunneen say', () => {
      const service = (random: () => number) => (cv2 === 0 ? MEAN_MS : lognormal(random, { mean: MEAN_MS, cv2 }));
      const simulated = simulate(one, service);
      expect(errorOf(meanWaitMs(queueOf(one, cv2)), simulated.mean)).toBeLessThan(0.15);
      expect(errorOf(waitQuantileMs(queueOf(one, cv2), 0.95), simulated.quantile(0.95))).toBeLessThan(0.3);
    });
  },
);

it('the servers that are recommended for heavy-tailed services hold the wait they were chosen for', () => {
  for (const load of [0.5, 3, 12, 30]) {
    const arrivalsPerMs = load / MEAN_MS;
    const targets = { utilisation: 0.8, waitP95Ms: 5 * MEAN_MS };
    const queue = { arrivalsPerMs, meanServiceMs: MEAN_MS, arrivalCv2: 1, serviceCv2: 4 };
    const servers = fewestServers(queue, targets);
    const simulated = simulate({ servers, utilisation: load / servers }, (random) =>
      lognormal(random, { mean: MEAN_MS, cv2: 4 }),
    );
    expect(simulated.quantile(0.95)).toBeLessThan(targets.waitP95Ms * 1.3);
    if (servers > 1 && load < servers - 1) {
      const one = { servers: servers - 1, utilisation: load / (servers - 1) };
      const fewer = simulate(one, (random) => lognormal(random, { mean: MEAN_MS, cv2: 4 }));
      expect(fewer.quantile(0.95) > targets.waitP95Ms * 0.7 || one.utilisation > 0.8).toBe(true);
    }
  }
});
