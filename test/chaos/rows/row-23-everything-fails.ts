import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_RETRIES_AT_ONCE } from '../checker/facts';
import type { Act } from '../harness/act';
import type { Scenario } from '../harness/scenario';
import { follow } from '../harness/load';
import { inParallel } from '../harness/waiting';

/** Healthy agents keep this share of their throughput beside the flood. */
const KEPT_SHARE = 0.8;
/** Callers that think between two requests: the machine is not their bottleneck, so that what they lose was taken. */
const CALLERS = 4;
const THINK_MS = 250;
const MEASURED_MS = 8_000;

/** One agent answers 503 to everything under a flood; its retries stay bounded, and others hardly notice. */
export const everythingFails: Scenario = {
  row: 23,
  name: 'everything answers 503',
  floor: 0.3,
  alone: true,
  stage: { workers: 2 },
  async run(act) {
    const healthy = await act.agent('healthy');
    const failing = await act.agent('failing', { endpoint: { max_retry: 3 } });
    act.stage.agents.setMode(failing, 'unavailable');
    act.limits.push({ agent: failing, permits: null, retries: MAX_RETRIES_AT_ONCE, open_periods: [] });
    act.say('measuring the healthy agent alone');
    await throughput(act, healthy, 'warm-up', 3_000);
    const alone = await throughput(act, healthy, 'alone', MEASURED_MS);
    act.say('the flood');
    const load = act.load(
      {
        messages: act.scaled(160),
        overMs: MEASURED_MS,
        abilities: [failing],
        workMs: { from: 50, to: 300 },
        timeoutMs: 15_000,
        waiting: 0,
      },
      // A flood does not wait its turn, nor does it come again.
      { patienceMs: 0 },
    );
    const beside = await throughput(act, healthy, 'beside', MEASURED_MS);
    await load.done;
    act.notes.push(`healthy agent: ${alone.toFixed(1)}/s alone, ${beside.toFixed(1)}/s beside the flood`);
    act.expect(
      beside >= KEPT_SHARE * alone,
      `the healthy agent kept ${Math.round((100 * beside) / alone)} % of its throughput`,
    );
    act.say('waiting for the flood to end');
    await follow(load, act.caller(), 30_000);
    act.stage.agents.setMode(failing, 'script');
    await act.recovered();
    const after = act.load({ messages: act.scaled(120), overMs: 4_000, abilities: [healthy] }, { prefix: 'after' });
    const { runs } = await act.settle(load, after);
    const codes = new Map<string, number>();
    for (const { code } of runs.filter(({ key }) => key.includes('-m-'))) {
      codes.set(code ?? 'completed', (codes.get(code ?? 'completed') ?? 0) + 1);
    }
    act.notes.push(`the flood ended as ${[...codes].map(([code, count]) => `${count}× ${code}`).join(', ')}`);
  },
};

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
