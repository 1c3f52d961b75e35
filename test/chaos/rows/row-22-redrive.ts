import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import { exchange, type Exchange } from '../harness/http';
import type { Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';
import { inParallel } from '../harness/waiting';

/** The gateway is killed so long after the first of a round of redrives was asked for, ms. */
const KILLED_AFTER_MS = { from: 5, to: 60 };
/** Redrives of one round: all on their way when the gateway dies. */
const ROUND = 10;

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
    const heard = await pressAndKill(act, ids.slice(half));
    await act.recovered();
    const { runs } = await act.settle(load);
    judgeKills(act, heard);
    for (const id of ids) {
      const own = runs.filter(({ reach_id }) => reach_id === id);
      if (own.some(({ status }) => status === 'completed')) continue;
      act.problems.push(
        `${id} was redriven, answered ${heard.get(id)?.told.join(', ') ?? 'nothing'}, and its runs ended as ${own.map(({ code, attempts }) => `${code} after ${attempts?.length ?? '?'} attempts`).join(', ')}`,
      );
    }
  },
};

async function deadLettersOf(act: Act, load: Load): Promise<string[]> {
  const ids = load.sent.flatMap(({ reachId }) => reachId ?? []);
  const ends = await Promise.all(ids.map((id) => act.caller().ended(id, 30_000)));
  return ends.flatMap((end) => (end?.status === 'dead_lettered' ? end.reach_id : []));
}

/** Both are told of the same new run, and that it was begun for one of them. */
async function pressTwice(act: Act, id: string): Promise<void> {
  act.redrives[id] = 1;
  const answers = (await Promise.all(act.stage.urls.map((url) => press(url, id)))).map(({ answer }) => answer);
  const told = answers.map((answer) => `${answer?.status} ${answer?.body?.run_id} ${answer?.body?.replayed}`);
  const runs = new Set(answers.map((answer) => answer?.body?.run_id as string | undefined));
  const isOne = answers.every((answer) => answer?.status === 202) && runs.size === 1 && !runs.has(undefined);
  const begun = answers.filter((answer) => answer?.body?.replayed === false).length;
  act.expect(isOne && begun === 1, `redriving ${id} twice: ${told.join(' and ')}`);
}

/** What was heard of redriving one. */
interface Heard {
  told: string[];
  /** A request was on its way when its gateway died. */
  cut: boolean;
  /** The answer in the end said that the run had been begun before. */
  replayed: boolean;
}

/** Rounds of redrives at the first gateway, which is killed in the middle of each, and a worker as soon as it has one of them in hand. */
async function pressAndKill(act: Act, ids: readonly string[]): Promise<Map<string, Heard>> {
  const heard = new Map<string, Heard>();
  for (let from = 0; from < ids.length; from += ROUND) {
    act.say('redriving while a gateway and a worker are killed');
    const [gateway] = act.stage.gateways;
    await gateway!.whenReady();
    const working = act.stage.agents.nextArrival(5_000).then(() => act.stage.workers[0]!.kill('SIGKILL'));
    const killing = sleep(act.random.between(KILLED_AFTER_MS.from, KILLED_AFTER_MS.to)).then(() =>
      gateway!.kill('SIGKILL'),
    );
    await inParallel(ids.slice(from, from + ROUND), ROUND, async (id) => heard.set(id, await pressUntilHeard(act, id)));
    await Promise.all([working, killing]);
  }
  return heard;
}

/** As a person would: again and again until somebody answers. */
async function pressUntilHeard(act: Act, id: string): Promise<Heard> {
  const heard: Heard = { told: [], cut: false, replayed: false };
  act.redrives[id] = 1;
  for (let turn = 0; turn < 60; turn += 1) {
    const { answer, silence } = await press(act.stage.urls[turn % act.stage.urls.length]!, id);
    heard.told.push(answer ? `${answer.status} ${answer.body?.code ?? answer.body?.state ?? ''}` : silence.code);
    if (silence?.sent) heard.cut = true;
    if (answer && answer.status < 500) {
      act.expect(answer.status === 202, `redriving ${id}: ${heard.told.join(', ')}`);
      heard.replayed = answer.body?.replayed === true;
      return heard;
    }
    await sleep(300);
  }
  act.problems.push(`nobody answered the redrive of ${id}`);
  return heard;
}

function judgeKills(act: Act, heard: ReadonlyMap<string, Heard>): void {
  const all = [...heard.values()];
  const cut = all.filter((each) => each.cut);
  const begun = cut.filter(({ replayed }) => replayed).length;
  act.notes.push(
    `${cut.length} of ${all.length} redrives were on their way when the gateway died, ${begun} had been begun`,
  );
  act.expect(cut.length > 0, 'no redrive was on its way when the gateway was killed: the kill hit nothing');
}

function press(url: string, id: string): Promise<Exchange> {
  return exchange('POST', `${url}/v1/dead-letters/${id}:redrive`, { body: {}, limitMs: 15_000 });
}
