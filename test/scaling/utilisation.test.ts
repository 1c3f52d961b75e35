/**
 * How much of its capacity an agent is given under overload: a place that has come free is taken again at once, by one worker
 * and by several that share the places, and never more are taken than there are.
 */
import { ReachError } from '../../src/protocol/reach-error';
import { seeded } from './queue-simulation';
import {
  DISPATCH_MS,
  pause,
  REQUEST,
  SimulatedAgent,
  SimulatedPlatform,
  type PlatformOptions,
} from './worker-simulation';

const SERVICE_MS = 200;
const CALLERS_PER_PLACE = 10;
const WARM_UP_MS = 3_000;
const MEASURED_MS = 20_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Callers in a closed loop: each asks again when it is answered, or when the refusal says. */
async function overload(options: PlatformOptions, seed: number) {
  const random = seeded(seed);
  const platform = new SimulatedPlatform(options, random);
  const agent = new SimulatedAgent(() => SERVICE_MS);
  const places = options.places * (options.instances ?? 1);
  let open = true;
  let reaches = 0;
  const refusals = new Set<string>();
  const reach = async () => {
    const caller = `r-${(reaches += 1)}`;
    await platform.gateway.router.route(REQUEST);
    await pause(DISPATCH_MS);
    for (let worker = platform.someWorker(); ; worker = platform.someWorker()) {
      try {
        return await worker.attempt(agent, { caller, durable: false });
      } catch (caught) {
        const { options: told } = ReachError.from(caught);
        worker.bulkheads.left('desk', caller);
        // The server gives a call that found no share to another worker.
        if (told.extra?.details?.no_share !== true) throw caught;
        await pause(told.retryAfterMs ?? 0);
      }
    }
  };
  const caller = async () => {
    await pause(random() * 1_000);
    while (open) {
      const refused = await reach().then(
        () => null,
        (error: unknown) => ReachError.from(error),
      );
      if (refused) refusals.add(refused.code);
      await pause(refused?.options.retryAfterMs ?? DISPATCH_MS);
    }
  };
  const callers = Array.from({ length: CALLERS_PER_PLACE * places }, caller);
  await jest.advanceTimersByTimeAsync(WARM_UP_MS);
  const before = agent.served;
  await jest.advanceTimersByTimeAsync(MEASURED_MS);
  const utilisation = ((agent.served - before) * SERVICE_MS) / (MEASURED_MS * places);
  open = false;
  await jest.advanceTimersByTimeAsync(10_000);
  await Promise.all(callers);
  expect([...refusals].filter((code) => code !== 'overloaded')).toEqual([]);
  expect(agent.inside).toBe(0);
  for (const { bulkheads } of platform.workers) expect(bulkheads.inUse('desk')).toBe(0);
  platform.close();
  return { utilisation, most: agent.most };
}

it.each([
  { workers: 1, places: 2, least: 0.85 },
  { workers: 1, places: 1, least: 0.85 },
  { workers: 1, places: 1, instances: 4, least: 0.85 },
  { workers: 2, places: 2, least: 0.75 },
  { workers: 2, places: 1, least: 0.75 },
  { workers: 2, places: 3, least: 0.75 },
  { workers: 2, places: 1, instances: 3, least: 0.75 },
  { workers: 3, places: 2, instances: 2, least: 0.75 },
])('$workers workers use the places of instances that take $places each', async ({ least, ...options }) => {
  const { utilisation, most } = await overload(options, 11);
  expect(most).toBe(options.places * (options.instances ?? 1));
  expect(utilisation).toBeGreaterThan(least);
});
