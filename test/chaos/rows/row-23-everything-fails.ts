import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_RETRIES_AT_ONCE, type JournalEntry, type Run } from '../checker/facts';
import { mostAtOnce } from '../checker/limits';
import type { Act } from '../harness/act';
import type { Mode } from '../harness/agent-script';
import { http } from '../harness/http';
import { follow, type Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';
import { inParallel } from '../harness/waiting';

/** Healthy agents keep this share of their throughput beside the flood. */
const KEPT_SHARE = 0.8;
/** Callers that think between two requests: the machine is not their bottleneck, so that what they lose was taken. */
const CALLERS = 4;
const THINK_MS = 250;
const MEASURED_MS = 6_000;
/** A storm in which fewer retries met at the agent never came near the limit, and proves nothing of it. */
const NEAR_THE_LIMIT = 6;
/** Who was told to come again after a second was asleep for this long before, with room for two clocks, ms. */
const ASLEEP_MS = 900;
/** Longer than the first failures of a storm are apart, so that their retries meet. */
const STORM_WORK_MS = { from: 1_400, to: 1_600 };

/** What an act does to its agent. */
interface Flood {
  prefix: string;
  failing: string;
  messages: number;
  mode: Mode;
  workMs: { from: number; to: number };
}

/**
 * One agent fails at everything under a flood, and others hardly notice. First with its breaker held closed by hand, so that
 * nothing but the limit of retries stands between them and it (R27); then with the breaker (R28).
 */
export const everythingFails: Scenario = {
  row: 23,
  name: 'everything answers 503',
  floor: 0.3,
  alone: true,
  stage: { workers: 2 },
  async run(act) {
    const healthy = await act.agent('healthy');
    const stormy = await failingAgent(act, 'stormy');
    const failing = await failingAgent(act, 'failing');
    await holdClosed(act, stormy);
    act.say('measuring the healthy agent alone');
    await throughput(act, healthy, 'warm-up', 2_000);
    const alone = await throughput(act, healthy, 'alone', MEASURED_MS);
    const beside = async (flood: Flood): Promise<Load> => floodBeside(act, flood, { healthy, alone });
    const storm = await beside({
      prefix: 'storm',
      failing: stormy,
      messages: 60,
      mode: 'later',
      workMs: STORM_WORK_MS,
    });
    const flood = await beside({
      prefix: 'flood',
      failing,
      messages: 120,
      mode: 'unavailable',
      workMs: { from: 50, to: 300 },
    });
    await act.recovered();
    // Whoever was in the storm can be retried again: every slot was given back.
    const after = act.load(
      {
        messages: act.scaled(120),
        overMs: 4_000,
        abilities: [healthy, stormy],
        failures: { share: 0.1, steps: ['error'] },
      },
      { prefix: 'after' },
    );
    const { runs, journal } = await act.settle(storm, flood, after);
    limitWasTried(act, { runs, journal: journal.filter(({ agent }) => agent === stormy) });
    act.notes.push(`the flood ended as ${endsOf(act, runs, 'flood')}`);
    const lost = runs.filter(({ key, status }) => key.startsWith(act.named('after')) && status !== 'completed').length;
    act.expect(lost === 0, `${lost} reaches failed when everything was over`);
  },
};

async function failingAgent(act: Act, name: string): Promise<string> {
  const agent = await act.agent(name, { endpoint: { max_retry: 3 } });
  act.limits.push({ agent, permits: null, retries: MAX_RETRIES_AT_ONCE, open_periods: [] });
  return agent;
}

/** An operator's word: everything passes. */
async function holdClosed(act: Act, agent: string): Promise<void> {
  const url = `${act.stage.urls[0]}/v1/agents/${agent}/abilities/${agent}/breaker`;
  const body = { state: 'closed', reason: 'the limit of retries is tried without it' };
  const answer = await http('PUT', url, { body });
  if (answer?.status !== 200) throw new Error(`holding the breaker closed: ${answer?.status ?? 'no answer'}`);
}

/** Floods the failing agent while the throughput of the healthy one is measured; heals it when every reach has ended. */
async function floodBeside(
  act: Act,
  { prefix, failing, messages, mode, workMs }: Flood,
  { healthy, alone }: { healthy: string; alone: number },
): Promise<Load> {
  act.say(`the ${prefix}`);
  act.stage.agents.setMode(failing, mode);
  const load = act.load(
    {
      messages: act.scaled(messages),
      overMs: MEASURED_MS,
      abilities: [failing],
      workMs,
      timeoutMs: 20_000,
      waiting: 0,
    },
    // A flood does not wait its turn, nor does it come again.
    { prefix, patienceMs: 0 },
  );
  const beside = await throughput(act, healthy, `beside-${prefix}`, MEASURED_MS);
  await load.done;
  const kept = `${Math.round((100 * beside) / alone)} % of its throughput beside the ${prefix}`;
  act.notes.push(`healthy agent: ${alone.toFixed(1)}/s alone, ${beside.toFixed(1)}/s beside the ${prefix}`);
  act.expect(beside >= KEPT_SHARE * alone, `the healthy agent kept ${kept}`);
  act.say(`waiting for the ${prefix} to end`);
  await follow(load, act.caller(), 30_000);
  act.stage.agents.setMode(failing, 'script');
  return load;
}

/**
 * The storm was let in, ran into the limit, and those asleep until their retry were counted by it: otherwise more than the limit
 * would have waited or been at the agent at one moment. (That no more retries were at the agent is a rule of its own.)
 */
function limitWasTried(act: Act, { runs, journal }: { runs: Run[]; journal: JournalEntry[] }): void {
  const refused = runs.filter(
    ({ key, code }) => key.startsWith(act.named('storm')) && code === 'retry_budget_exhausted',
  );
  act.notes.push(`the storm ended as ${endsOf(act, runs, 'storm')}`);
  act.expect(refused.length > 0, 'no reach of the storm ended retry_budget_exhausted: the limit never bound');
  const retries = journal.filter(({ attempt, answer }) => attempt > 1 && answer === 'later');
  const most = mostAtOnce(retries);
  act.expect(most >= NEAR_THE_LIMIT, `only ${most} retries of the storm met at the agent: the limit was not tried`);
  const withSleep = mostAtOnce(retries.map((entry) => ({ ...entry, arrived_ms: entry.arrived_ms - ASLEEP_MS })));
  act.notes.push(`retries of the storm: ${most} at once at the agent, ${withSleep} with those asleep before theirs`);
  act.expect(
    withSleep <= MAX_RETRIES_AT_ONCE,
    `${withSleep} retries were under way at once with those asleep, allowed ${MAX_RETRIES_AT_ONCE}`,
  );
}

/** How the reaches of a load ended, for people. */
function endsOf(act: Act, runs: readonly Run[], prefix: string): string {
  const counts = new Map<string, number>();
  for (const { code } of runs.filter(({ key }) => key.startsWith(act.named(prefix)))) {
    counts.set(code ?? 'completed', (counts.get(code ?? 'completed') ?? 0) + 1);
  }
  return [...counts].map(([code, count]) => `${count}× ${code}`).join(', ');
}

/** Completed reaches per second of a few callers in a closed loop. */
async function throughput(act: Act, ability: string, prefix: string, forMs: number): Promise<number> {
  const endsMs = performance.now() + forMs;
  let completed = 0;
  await inParallel(
    Array.from({ length: CALLERS }, (_, lane) => lane),
    CALLERS,
    async (lane) => {
      for (let n = 0; performance.now() < endsMs; n += 1) {
        await sleep(THINK_MS);
        const sent = await act.caller().send(act.message(ability, `${prefix}-${lane}-${n}`, { waitSec: 10 }));
        if (sent.receipt?.reach_status === 'completed') completed += 1;
      }
    },
  );
  return (completed * 1_000) / forMs;
}
