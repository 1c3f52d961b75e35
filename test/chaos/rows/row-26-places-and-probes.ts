import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_RETRIES_AT_ONCE, type JournalEntry } from '../checker/facts';
import { mostAtOnce } from '../checker/limits';
import type { Act } from '../harness/act';
import { follow, type Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';
import { isShut, keepAsking, statesOf } from './breaker-watch';

/** Calls at once that the agent takes; two workers have half of them each. */
const PLACES = 4;
/** Kills that have to hit a call, and how many are tried for it. */
const HITS = 2;
const TRIES = 6;
/** Of the flood, one message in so many fails first: a place has to come back from that as well. */
const FAILS_EVERY = 12;
/** A dead worker's places are counted as its own until its lease has ended; then they are somebody's again (I4), ms. */
const PLACES_BACK_MS = 30_000;
/** Between two probes, ms, as configured below. */
const PROBE_INTERVAL_MS = 500;
/** Longer than that: two probes that were let pass by two processes would meet. */
const PROBED_WORK_MS = 800;
/** Until every process knows that the breaker is open, ms. */
const KNOWN_MS = 1_000;
const OPEN_FOR_MS = 6_000;
/** From the healing: a probe, two steps of recovery of two seconds at most, and room for a busy machine. */
const CLOSED_WITHIN_MS = 20_000;

/**
 * Places at an agent while workers die with some of them (R29), and a breaker that opens, probes and closes again (R28): both
 * are the platform's, whoever of two gateways and two workers is asked.
 */
export const placesAndProbes: Scenario = {
  row: 26,
  name: 'places and probes of two workers',
  floor: 0.4,
  stage: {
    gateways: 2,
    workers: 2,
    config: {
      breaker: {
        window_sec: 30,
        trip_failures: 5,
        trip_window: 6,
        min_requests: 6,
        sustained_sec: 1,
        probe_interval_sec: PROBE_INTERVAL_MS / 1_000,
        recovery_steps: [0.25, 0.5],
        recovery_successes: 2,
        recovery_step_sec: 2,
      },
    },
  },
  async run(act) {
    const placed = await act.agent('placed', { descriptor: { max_concurrency: PLACES } });
    const tripped = await act.agent('tripped', { endpoint: { max_retry: 1 } });
    act.limits.push({ agent: placed, permits: PLACES, retries: MAX_RETRIES_AT_ONCE, open_periods: [] });
    const flood = await floodWithKills(act, placed);
    const bursts = await everyPlaceIsBack(act, placed);
    const { failing, openPeriod } = await openAndHealed(act, tripped);
    act.limits.push({ agent: tripped, permits: null, retries: MAX_RETRIES_AT_ONCE, open_periods: [openPeriod] });
    await act.recovered();
    const healed = act.load(
      { messages: act.scaled(60), overMs: 3_000, abilities: [tripped] },
      { prefix: 'healed', patienceMs: 0 },
    );
    const { runs, journal } = await act.settle(flood, ...bursts, failing, healed);
    const completed = new Set(runs.filter(({ status }) => status === 'completed').map(({ key }) => key));
    const missing = ({ sent }: Load) => sent.filter(({ message }) => !completed.has(message.key)).length;
    act.expect(missing(healed) === 0, `${missing(healed)} reaches to the agent whose breaker had closed again failed`);
    const unplaced = [flood, ...bursts].reduce((sum, load) => sum + missing(load), 0);
    act.expect(unplaced <= 0.05 * flood.sent.length, `${unplaced} reaches that waited for a place did not complete`);
    probedOneByOne(
      act,
      journal.filter(
        ({ agent, arrived_ms: at }) => agent === tripped && at >= openPeriod.from_ms && at < openPeriod.to_ms,
      ),
    );
  },
};

/** More than the places take, failures among them, while workers are killed in the middle of calls. */
async function floodWithKills(act: Act, ability: string): Promise<Load> {
  const { agents, workers } = act.stage;
  const flood = keepAsking(act, ability, {
    prefix: 'flood',
    callers: 5 * PLACES,
    pauseMs: 0,
    scriptOf: (n) => ({ plan: n % FAILS_EVERY === 0 ? ['error'] : [], work_ms: act.random.between(250, 450) }),
    mode: 'async',
    patienceMs: 45_000,
  });
  const broken = () =>
    agents.journal([ability]).filter(({ answer, left_ms }) => answer === 'none' && left_ms !== null).length;
  let hits = 0;
  for (let kill = 1; kill <= TRIES && hits < HITS; kill += 1) {
    act.say(`killing a worker that has places, ${hits + 1} of ${HITS}`);
    await agents.nextArrival(10_000);
    const before = broken();
    const victim = workers[kill % workers.length]!;
    await victim.kill('SIGKILL');
    if (await eventually(() => broken() > before, { limitMs: 1_000, everyMs: 50 })) hits += 1;
    await victim.whenReady();
  }
  act.expect(hits === HITS, `${hits} kills of a worker hit a call, wanted ${HITS}`);
  flood.stop();
  await flood.load.done;
  await follow(flood.load, act.caller(), 60_000);
  return flood.load;
}

/** Bursts of twice as many calls as there are places, until one ran on all of them at once. (That it was never on more is a rule.) */
async function everyPlaceIsBack(act: Act, ability: string): Promise<Load[]> {
  act.say('bursts, until every place is taken at once');
  const bursts: Load[] = [];
  const endsMs = performance.now() + PLACES_BACK_MS;
  let most = 0;
  while (most < PLACES && performance.now() < endsMs) {
    const seen = act.stage.agents.journal([ability]).length;
    const burst = act.load(
      {
        messages: 2 * PLACES,
        overMs: 0,
        abilities: [ability],
        workMs: { from: 1_200, to: 1_200 },
        mode: 'async',
        waiting: 0,
      },
      { prefix: `burst-${bursts.length}` },
    );
    bursts.push(burst);
    await burst.done;
    await follow(burst, act.caller(), 30_000);
    most = mostAtOnce(act.stage.agents.journal([ability]).slice(seen));
  }
  act.expect(
    most === PLACES,
    `only ${most} of ${PLACES} places were taken at once ${PLACES_BACK_MS / 1_000} s after the flood`,
  );
  act.notes.push(`${bursts.length} bursts until all ${PLACES} places were taken at once`);
  return bursts;
}

/**
 * The agent fails until its breaker is open, stays so for a while under the load of two gateways, and is healed. In the open
 * period every probe fails, so that nobody may take the breaker for anything else.
 */
async function openAndHealed(act: Act, ability: string) {
  act.say('an agent that fails until its breaker is open');
  act.stage.agents.setMode(ability, 'unavailable');
  const asking = keepAsking(act, ability, {
    prefix: 'failing',
    callers: 6,
    pauseMs: 300,
    scriptOf: () => ({ plan: [], work_ms: PROBED_WORK_MS }),
    patienceMs: 0,
  });
  const everywhere = async (is: (state: string) => boolean) => (await statesOf(act, ability)).every(is);
  const opened = await eventually(() => everywhere(isShut), { limitMs: 20_000 });
  act.expect(opened, `the breaker is ${(await statesOf(act, ability)).join(' and ')} after nothing but failures`);
  await sleep(KNOWN_MS);
  const fromMs = performance.now();
  const seen = new Set<string>();
  while (performance.now() < fromMs + OPEN_FOR_MS) {
    for (const state of await statesOf(act, ability)) seen.add(state);
    await sleep(50);
  }
  const toMs = performance.now();
  act.stage.agents.setMode(ability, 'script');
  const others = [...seen].filter((state) => !isShut(state) && state !== 'unknown');
  act.expect(others.length === 0, `the breaker was ${others.join(', ')} while every call failed`);
  act.say('the agent is well: the breaker has to close');
  const closed = await eventually(() => everywhere((state) => state === 'closed'), { limitMs: CLOSED_WITHIN_MS });
  const states = (await statesOf(act, ability)).join(' and ');
  act.expect(closed, `the breaker is ${states} ${CLOSED_WITHIN_MS / 1_000} s after its agent was well again`);
  act.notes.push(`the breaker closed ${((performance.now() - toMs) / 1_000).toFixed(1)} s after its agent was well`);
  asking.stop();
  await asking.load.done;
  return { failing: asking.load, openPeriod: { from_ms: wallMs(fromMs), to_ms: wallMs(toMs) } };
}

/** As journals tell time. */
function wallMs(monotonicMs: number): number {
  return performance.timeOrigin + monotonicMs;
}

/** While the breaker was open somebody tried now and then, marked, and no sooner than an interval after the one before. (Never two at once: a rule.) */
function probedOneByOne(act: Act, probes: JournalEntry[]): void {
  act.notes.push(`${probes.length} probes while the breaker was open`);
  act.expect(
    probes.length >= 2,
    `${probes.length} probes in ${OPEN_FOR_MS / 1_000} s: who is never tried is never well again`,
  );
  const unmarked = probes.filter(({ bypass }) => !bypass).length;
  act.expect(unmarked === 0, `${unmarked} calls passed the open breaker without a mark`);
  const soon = probes.filter(({ arrived_ms }, n) => {
    const leftMs = probes[n - 1]?.left_ms;
    return leftMs !== undefined && leftMs !== null && arrived_ms - leftMs < 0.9 * PROBE_INTERVAL_MS;
  });
  act.expect(
    soon.length === 0,
    `${soon.length} probes came sooner than ${PROBE_INTERVAL_MS} ms after the failure before`,
  );
}
