import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../harness/scenario';

/** Temporal is killed in the middle of everything and started again on its data. */
export const temporalKilled: Scenario = {
  row: 7,
  name: 'Temporal killed and restarted',
  floor: 0.9,
  stage: { workers: 1 },
  async run(act) {
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
    const load = act.load({
      messages: act.scaled(120),
      overMs: 6_000 * Math.max(0.5, act.options.scale),
      abilities,
      semantics: ['at_least_once', 'exactly_once'],
      failures: { share: 0.1, steps: ['error'] },
      repeats: 0.1,
    });
    await sleep(1_000);
    act.say('killing Temporal');
    act.stage.temporal.kill('SIGKILL');
    await act.stage.temporal.exited;
    await sleep(1_500);
    act.say('starting Temporal again');
    await act.stage.temporal.restart();
    await act.recovered();
    await act.settle(load);
  },
};

/** A wait for a receipt may not be longer than this, whatever Temporal does: 5 s is what a start may take, then 503. */
const LONGEST_ANSWER_MS = 15_000;

/** Temporal answers late, then not at all for a second at a time. */
export const temporalSlow: Scenario = {
  row: 8,
  name: 'Temporal slow',
  floor: 0.9,
  stage: { workers: 1, proxied: { temporal: true } },
  async run(act) {
    const abilities = [await act.agent('plain'), await act.agent('idempotent', { idempotent: true })];
    const load = act.load({ messages: act.scaled(80), overMs: 10_000, abilities, waiting: 0, timeoutMs: 90_000 });
    const startedMs = performance.now();
    await sleep(1_000);
    act.say('delaying Temporal by 400 ms each way');
    act.stage.proxies.temporal?.poison({ latencyMs: 400 });
    await sleep(4_000);
    act.stage.proxies.temporal?.poison({});
    for (let pause = 0; pause < 3; pause += 1) {
      act.say('pausing Temporal for a second');
      act.stage.temporal.kill('SIGSTOP');
      await sleep(1_000);
      act.stage.temporal.kill('SIGCONT');
      await sleep(1_000);
    }
    await act.recovered();
    await load.done;
    const tookMs = performance.now() - startedMs;
    act.expect(tookMs < 10_000 + LONGEST_ANSWER_MS, `the last receipt came after ${Math.round(tookMs)} ms`);
    await act.settle(load);
  },
};
