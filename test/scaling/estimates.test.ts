/**
 * How near the estimates at acceptance come, for durable reaches that find a queue: against workers in simulated time whose
 * bulkheads, admission and router are the real ones.
 */
import { estimateOf, type WaitFacts } from '../../src/policy/feasibility';
import { ReachError } from '../../src/protocol/reach-error';
import { normalCdf, type ServiceProfile } from '../../src/policy/queueing';
import { exponential, seeded } from './queue-simulation';
import { DISPATCH_MS, pause, SimulatedAgent, SimulatedPlatform } from './worker-simulation';

const ROUNDS = new Map([
  [1, 14],
  [2, 8],
  [8, 3],
]);
const SEED = 5;
const GAP_MS = 20;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Quantile functions with the mean 1: drawn in a random order, but in their due proportions, so that few services tell. */
const DISTRIBUTIONS = {
  deterministic: () => 1,
  exponential: (share: number) => exponential(() => share, 1),
  lognormal: (share: number) => Math.exp(normalQuantile(share) * Math.sqrt(Math.log(1 + CV2)) - Math.log(1 + CV2) / 2),
};
const CV2 = 2;
const DECK = 36;

/** By bisection. */
function normalQuantile(share: number): number {
  let [low, high] = [-8, 8];
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < share) low = middle;
    else high = middle;
  }
  return low;
}

function deckOf({ kind, meanMs }: Pick<Case, 'kind' | 'meanMs'>): number[] {
  const raw = Array.from({ length: DECK }, (_, n) => DISTRIBUTIONS[kind]((n + 0.5) / DECK));
  const mean = raw.reduce((sum, one) => sum + one, 0) / DECK;
  return raw.map((one) => (one * meanMs) / mean);
}

function dealtFrom(deck: readonly number[], random: () => number): () => number {
  let left: number[] = [];
  return () => {
    if (left.length === 0) left = [...deck];
    return left.splice(Math.floor(random() * left.length), 1)[0]!;
  };
}

function profileOf(values: readonly number[]): ServiceProfile {
  const sum = (of: (value: number) => number) => values.reduce((total, value) => total + of(value), 0);
  return {
    count: values.length,
    sumMs: sum((value) => value),
    sumSquaresMs2: sum((value) => value * value),
    values: values.toSorted((a, b) => a - b).map((value) => [value, 1] as const),
  };
}

interface Case {
  places: number;
  workers?: number;
  kind: keyof typeof DISTRIBUTIONS;
  meanMs: number;
  perPlace: number;
}

async function ratios({ places, workers = 1, kind, meanMs, perPlace }: Case, seed: number): Promise<number[]> {
  const random = seeded(seed);
  const deck = deckOf({ kind, meanMs });
  const next = dealtFrom(deck, random);
  const service = profileOf(deck);
  const platform = new SimulatedPlatform({ workers, places }, random);
  const agent = new SimulatedAgent(next);
  const ids = ['desk', 'desk/1.0.0/i0'];
  const found: number[] = [];
  let reaches = 0;
  const reach = async () => {
    const caller = `r-${(reaches += 1)}`;
    const queued = platform.workers.reduce(
      (sum, { bulkheads }) => sum + ids.reduce((all, id) => all + bulkheads.depth(id), 0),
      0,
    );
    const facts: WaitFacts = { servers: places, inFlight: agent.inside, queued, service, durable: true };
    const { etaMs, waitMs } = estimateOf(facts)!;
    const startMs = performance.now();
    await pause(DISPATCH_MS);
    for (;;) {
      const worker = platform.someWorker();
      try {
        await worker.attempt(agent, { caller, durable: true });
        break;
      } catch (caught) {
        const { options, code } = ReachError.from(caught);
        if (code !== 'overloaded') throw caught;
        await pause((options.retryAfterMs ?? worker.bulkheads.retryDelayMs('desk', places)) + DISPATCH_MS);
      }
    }
    if (waitMs > 0) found.push(etaMs / (performance.now() - startMs));
  };
  for (let round = 0; round < ROUNDS.get(places)!; round += 1) {
    const all: Promise<void>[] = [];
    for (let n = 0; n < (1 + perPlace) * places; n += 1) {
      all.push(reach());
      await jest.advanceTimersByTimeAsync(GAP_MS / places);
    }
    let over = false;
    void Promise.all(all).then(() => (over = true));
    while (!over) await jest.advanceTimersByTimeAsync(500);
    // Who went elsewhere is forgotten.
    await jest.advanceTimersByTimeAsync(61_000);
  }
  platform.close();
  return found.sort((a, b) => a - b);
}

const CASES = [1, 2, 8].flatMap((places) =>
  (['deterministic', 'exponential', 'lognormal'] as const).flatMap((kind) =>
    [
      { meanMs: 300, perPlace: 8 },
      { meanMs: 50, perPlace: 8 },
    ].map((load) => ({ places, kind, ...load })),
  ),
);

it.each(CASES)('come out right in the median: %j', async (one) => {
  const all = await ratios(one, SEED);
  const median = all[Math.floor(all.length / 2)]!;
  expect(median).toBeGreaterThan(0.85);
  expect(median).toBeLessThan(1.2);
});
