import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import type { Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';
import { GRACEFUL, nothingDropped, replaced, takeInHand } from './drain';

/** Workers are replaced one after the other under load, so that old and new work side by side. */
export const rollingUpgrade: Scenario = {
  row: 20,
  name: 'rolling upgrade of the workers',
  floor: 0.99,
  stage: { workers: 2, config: GRACEFUL },
  async run(act) {
    const { load, abilities } = await steadyLoad(act, 10_000);
    const loads = [load];
    await sleep(500);
    for (const [index, worker] of act.stage.workers.entries()) {
      const [gateway] = act.stage.urls as [string];
      const inHand = await takeInHand(act, { abilities, gateway, prefix: `worker-${index}` });
      loads.push(inHand.load);
      await replaced(act, worker, 'a worker');
      await inHand.judge();
    }
    await act.recovered();
    const { runs } = await act.settle(...loads);
    nothingDropped(act, runs, load.sent);
  },
};

/** SIGTERM to everything in turn under load: nothing accepted is lost, and who is turned away is told when to come again. */
export const sigtermUnderLoad: Scenario = {
  row: 25,
  name: 'SIGTERM under load',
  floor: 0.99,
  stage: { gateways: 2, workers: 2, config: GRACEFUL },
  async run(act) {
    const { load, abilities } = await steadyLoad(act, 6_000);
    await sleep(500);
    const { gateways, workers, urls } = act.stage;
    const atGateway = await takeInHand(act, { abilities, gateway: urls[0]!, prefix: 'gateway' });
    await replaced(act, gateways[0]!, 'a gateway');
    await atGateway.judge();
    const atWorker = await takeInHand(act, { abilities, gateway: urls[1] ?? urls[0]!, prefix: 'worker' });
    await replaced(act, workers[0]!, 'a worker');
    await atWorker.judge();
    await act.recovered();
    const { runs } = await act.settle(load, atGateway.load, atWorker.load);
    nothingDropped(act, runs, load.sent);
    const rude = load.sent.reduce((sum, each) => sum + each.rude, 0);
    act.expect(rude === 0, `${rude} answers of 503 did not say when to come again`);
    const bad = load.sent
      .flatMap(({ setbacks }) => setbacks)
      .filter((what) => /^5/.test(what) && !what.startsWith('503'));
    act.expect(bad.length === 0, `5xx other than 503 during the drain: ${[...new Set(bad)].join(', ')}`);
  },
};

async function steadyLoad(act: Act, overMs: number): Promise<{ load: Load; abilities: string[] }> {
  const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
  const load = act.load({
    messages: act.scaled(150),
    overMs: overMs * Math.max(0.5, act.options.scale),
    abilities,
    semantics: ['at_least_once', 'exactly_once', 'at_most_once'],
    workMs: { from: 50, to: 400 },
  });
  return { load, abilities };
}
