import type { Act } from '../harness/act';
import type { Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';

/** A worker is killed the moment an agent has received a call: once, then again and again. */
export const workerKilled: Scenario = {
  row: 1,
  name: 'worker killed mid-invoke',
  floor: 0.75,
  stage: { workers: 2 },
  async run(act) {
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
    const load = act.load({
      messages: act.scaled(80),
      overMs: 8_000 * Math.max(0.4, act.options.scale),
      abilities,
      semantics: ['at_least_once', 'at_least_once', 'exactly_once', 'at_most_once'],
      workMs: { from: 100, to: 600 },
      repeats: 0.1,
    });
    const kills = act.options.scale < 1 ? 2 : 5;
    for (let kill = 1; kill <= kills; kill += 1) {
      act.say(`killing a worker in the middle of a call, ${kill} of ${kills}`);
      await act.stage.agents.nextArrival(3_000);
      // Every other time both, so that the one that made the call is among them.
      const victims = kill % 2 === 1 ? act.stage.workers : [act.random.pick(act.stage.workers)];
      await Promise.all(victims.map((worker) => worker.kill('SIGKILL')));
      await Promise.all(victims.map((worker) => worker.whenReady()));
    }
    await act.recovered();
    await load.done;
    const poisoned = act.options.scale >= 1 ? await poison(act) : null;
    const { runs } = await act.settle(load, ...(poisoned ? [poisoned] : []));
    const ofPoison = new Set(poisoned?.sent.map(({ message }) => message.key));
    const lost = runs
      .filter(({ key }) => !ofPoison.has(key))
      .flatMap(({ attempts }) => attempts ?? [])
      .filter(({ code }) => code === 'worker_lost');
    act.notes.push(`${kills} kills, ${lost.length} attempts recorded as worker_lost`);
    act.expect(lost.length > 0, 'no attempt was lost: the kills hit nothing');
    if (!poisoned) return;
    const fates = runs.filter(({ key }) => ofPoison.has(key)).flatMap(({ attempts }) => attempts ?? []);
    const codes = fates.map(({ code }) => code ?? 'ok').join(', ');
    act.expect(codes === 'worker_lost, worker_lost, worker_lost', `the poison message was recorded as ${codes}`);
  },
};

/** A message that takes its worker down every time is given up after the limit, not tried for ever. */
async function poison(act: Act): Promise<Load> {
  act.say('a message that kills its worker every time');
  // It would answer in the end: what it dies of is its worker's death and nothing else.
  const ability = await act.agent('poisoned', { endpoint: { max_retry: 2, timeout_ms: 60_000 } });
  const message = act.message(ability, 'poison', {
    timeoutMs: 180_000,
    script: { plan: [], work_ms: 50_000, tag: 'p' },
  });
  const restarts = () => act.stage.workers.reduce((sum, worker) => sum + worker.restarts, 0);
  const before = restarts();
  const stop = new AbortController();
  const killing = (async () => {
    for await (const { agent } of act.stage.agents.arrivals(stop.signal)) {
      if (agent === ability) await Promise.all(act.stage.workers.map((worker) => worker.kill('SIGKILL')));
    }
  })();
  // Only now: whoever listens later misses the first call, which is under way before the receipt is here.
  const sent = await act.caller().send(message);
  const end = sent.reachId ? await act.caller().ended(sent.reachId, 100_000) : null;
  stop.abort();
  await killing;
  const seen = act.stage.agents.journal([ability]).length;
  act.expect(end?.status === 'dead_lettered', `the poison message ended as ${end?.status ?? 'nothing'}`);
  act.expect(seen === 3, `the poison message was tried ${seen} times, allowed 3`);
  await eventually(() => Promise.all(act.stage.workers.map((worker) => worker.whenReady())).then(() => true), {
    limitMs: 20_000,
  });
  const killed = restarts() - before;
  act.expect(killed >= 3, `the poison message took down ${killed} workers: it was not what it should be`);
  return { planned: 1, sent: [sent], done: Promise.resolve() };
}
