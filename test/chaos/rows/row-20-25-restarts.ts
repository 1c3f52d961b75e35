import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import type { Load } from '../harness/load';
import type { RootProcess } from '../harness/root-process';
import type { Scenario } from '../harness/scenario';

/** `server.graceful_timeout` of the stage, with what closing connections takes. */
const GRACE_MS = 8_000 + 4_000;

/** Workers are replaced one after the other under load, so that old and new work side by side. */
export const rollingUpgrade: Scenario = {
  row: 20,
  name: 'rolling upgrade of the workers',
  floor: 0.99,
  stage: { workers: 2 },
  async run(act) {
    const load = await steadyLoad(act, 10_000);
    await sleep(500);
    for (const worker of act.stage.workers) await replaced(act, worker, 'a worker');
    await act.recovered();
    await act.settle(load);
  },
};

/** SIGTERM to everything in turn under load: nothing accepted is lost, and who is turned away is told when to come again. */
export const sigtermUnderLoad: Scenario = {
  row: 25,
  name: 'SIGTERM under load',
  floor: 0.99,
  stage: { gateways: 2, workers: 2 },
  async run(act) {
    const load = await steadyLoad(act, 6_000);
    await sleep(500);
    await replaced(act, act.stage.gateways[0]!, 'a gateway');
    await replaced(act, act.stage.workers[0]!, 'a worker');
    await act.recovered();
    await act.settle(load);
    const rude = load.sent.reduce((sum, each) => sum + each.rude, 0);
    act.expect(rude === 0, `${rude} answers of 503 did not say when to come again`);
    const bad = load.sent
      .flatMap(({ setbacks }) => setbacks)
      .filter((what) => /^5/.test(what) && !what.startsWith('503'));
    act.expect(bad.length === 0, `5xx other than 503 during the drain: ${[...new Set(bad)].join(', ')}`);
  },
};

async function steadyLoad(act: Act, overMs: number): Promise<Load> {
  const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
  return act.load({
    messages: act.scaled(150),
    overMs: overMs * Math.max(0.5, act.options.scale),
    abilities,
    semantics: ['at_least_once', 'exactly_once', 'at_most_once'],
    workMs: { from: 50, to: 400 },
  });
}

async function replaced(act: Act, root: RootProcess, what: string): Promise<void> {
  act.say(`replacing ${what}`);
  const startedMs = performance.now();
  const code = await root.kill('SIGTERM');
  const tookMs = performance.now() - startedMs;
  act.expect(code === 0, `${what} ended with ${code ?? 'a signal'} after SIGTERM`);
  act.expect(tookMs < GRACE_MS, `${what} took ${Math.round(tookMs)} ms to drain`);
  await root.whenReady();
}
