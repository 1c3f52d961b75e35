import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';
import { inParallel } from '../harness/waiting';

/** Dead letters are redriven twice at once, and while gateways and workers are killed: one new run each. */
export const redriveTwice: Scenario = {
  row: 22,
  name: 'redrive twice, redrive and kill',
  floor: 0.95,
  stage: { gateways: 2, workers: 2 },
  async run(act) {
    const ability = await act.agent('mended');
    act.stage.agents.setMode(ability, 'reject');
    const load = act.load({ messages: act.scaled(40), overMs: 2_000, abilities: [ability] });
    await load.done;
    const ids = await deadLettersOf(act, load);
    act.expect(ids.length === load.planned, `${ids.length} of ${load.planned} are dead letters`);
    act.stage.agents.setMode(ability, 'script');

    const half = Math.floor(ids.length / 2);
    act.say('redriving each twice at once, at both gateways');
    await inParallel(ids.slice(0, half), 6, (id) => pressTwice(act, id));
    act.say('redriving while a gateway and a worker are killed');
    const killing = (async () => {
      await sleep(150);
      await act.stage.gateways[0]!.kill('SIGKILL');
      await act.stage.workers[0]!.kill('SIGKILL');
    })();
    const heard = new Map<string, string>();
    await inParallel(ids.slice(half), 4, async (id) => heard.set(id, await pressUntilHeard(act, id)));
    await killing;
    await act.recovered();
    const { runs } = await act.settle(load);
    for (const id of ids) {
      const own = runs.filter(({ reach_id }) => reach_id === id);
      if (own.some(({ status }) => status === 'completed')) continue;
      act.problems.push(
        `${id} was redriven, answered ${heard.get(id) ?? 'nothing'}, and its runs ended as ${own.map(({ code, attempts }) => `${code} after ${attempts?.length ?? '?'} attempts`).join(', ')}`,
      );
    }
  },
};

async function deadLettersOf(act: Act, load: Load): Promise<string[]> {
  const ids = load.sent.flatMap(({ reachId }) => reachId ?? []);
  const ends = await Promise.all(ids.map((id) => act.caller().ended(id, 30_000)));
  return ends.flatMap((end) => (end?.status === 'dead_lettered' ? end.reach_id : []));
}

async function pressTwice(act: Act, id: string): Promise<void> {
  act.redrives[id] = 1;
  const answers = await Promise.all(act.stage.urls.map((url) => press(url, id)));
  const refused = answers.filter((answer) => (answer?.status ?? 0) >= 500 || answer === null);
  act.expect(refused.length === 0, `redriving ${id} twice: ${answers.map((answer) => answer?.status).join(' and ')}`);
}

/** As a person would: again and again until somebody answers. */
async function pressUntilHeard(act: Act, id: string): Promise<string> {
  const heard: string[] = [];
  act.redrives[id] = 1;
  for (let turn = 0; turn < 60; turn += 1) {
    const answer = await press(act.stage.urls[turn % act.stage.urls.length]!, id);
    heard.push(answer ? `${answer.status} ${answer.body?.code ?? answer.body?.state ?? ''}` : 'no answer');
    if (answer && answer.status < 500) return heard.join(', ');
    await sleep(300);
  }
  act.problems.push(`nobody answered the redrive of ${id}`);
  return heard.join(', ');
}

function press(url: string, id: string) {
  return http('POST', `${url}/v1/dead-letters/${id}:redrive`, { body: {}, limitMs: 15_000 });
}
