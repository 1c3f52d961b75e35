import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Load } from '../harness/load';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';
import { contextClients } from './context-store';
import { leaseInstances, readyCount, type LeasedInstances } from './leased-instance';
import {
  expectFailsClosed,
  expectRegistersAgain,
  expectServed,
  sendMeanwhile,
  watchReady,
  type Meanwhile,
} from './meanwhile';

/** Shorter than the fault, so that leases run out behind the platform's back. */
const TTL_SEC = 5;
/** Enough that their going all at once would be seen. */
const INSTANCES = 10;

/**
 * etcd is paused for longer than the leases live: what is known goes on to be used, nobody is deregistered for good, and the
 * Context Store stays linearizable (I3).
 */
export const etcdPaused: Scenario = {
  row: 3,
  name: 'etcd paused longer than the TTL',
  floor: 0.9,
  stage: { workers: 1 },
  async run(act) {
    const ready = await prepare(act, 12_000);
    const { abilities, leased } = ready;
    const url = act.stage.urls[0]!;
    await sleep(1_000);
    act.say('pausing etcd');
    act.stage.etcd.kill('SIGSTOP');
    const pausedMs = performance.now();
    const watch = watchReady(act, url, leased);
    // On both sides of the moment at which the leases would have run out.
    const meanwhile = sendMeanwhile(act, { abilities, messages: act.scaled(36), overMs: 9_000 });
    const saysSo = async () => (await http('GET', `${url}/readyz`, { limitMs: 3_000 }))?.status === 503;
    act.expect(await eventually(saysSo, { limitMs: 10_000 }), '/readyz never said that the registry is cut off');
    await expectFailsClosed(act, url);
    await meanwhile.over;
    await sleep(Math.max(0, pausedMs + (TTL_SEC + 2) * 1_000 - performance.now()));
    allStayedKnown(act, await watch.stop());
    act.stage.etcd.kill('SIGCONT');
    await afterwards(act, ready, meanwhile);
  },
};

/** etcd is killed and started again on its data: what was answered is there (I3). */
export const etcdKilled: Scenario = {
  row: 4,
  name: 'etcd killed and restarted',
  floor: 0.95,
  stage: { workers: 1 },
  async run(act) {
    const ready = await prepare(act, 6_000);
    await sleep(800);
    act.say('killing etcd');
    act.stage.etcd.kill('SIGKILL');
    await act.stage.etcd.exited;
    const watch = watchReady(act, act.stage.urls[0]!, ready.leased);
    const meanwhile = sendMeanwhile(act, { abilities: ready.abilities, messages: act.scaled(30), overMs: 1_500 });
    await expectFailsClosed(act, act.stage.urls[0]!);
    await meanwhile.over;
    allStayedKnown(act, await watch.stop());
    act.say('starting etcd again');
    await act.stage.etcd.restart();
    await afterwards(act, ready, meanwhile);
  },
};

/** What is under way when etcd goes. */
interface Ready {
  load: Load;
  /** Two agents with an address, and the leased one. */
  abilities: string[];
  leased: string;
  instances: LeasedInstances;
  contexts: ReturnType<typeof contextClients>;
}

async function prepare(act: Act, overMs: number): Promise<Ready> {
  const leased = await act.agent('leased', { address: null });
  const abilities = [await act.agent('static'), await act.agent('static-idempotent', { idempotent: true }), leased];
  const instances = await leaseInstances(act, leased, { count: INSTANCES, ttlSec: TTL_SEC });
  if (!(await allReady(act, leased, 10_000))) throw new Error('the leased instances did not become ready');
  const spread = Math.max(3_000, overMs * act.options.scale);
  const load = act.load({
    messages: act.scaled(80),
    overMs: spread,
    abilities,
    failures: { share: 0.1, steps: ['error'] },
    repeats: 0.1,
  });
  return { load, abilities, leased, instances, contexts: contextClients(act) };
}

function allStayedKnown(act: Act, { fewest }: { fewest: number }): void {
  act.expect(fewest === INSTANCES, `only ${fewest} of ${INSTANCES} instances were known as ready while etcd was away`);
}

/** The fault is over: everybody is back, and what happened in between is judged. */
async function afterwards(act: Act, { load, abilities, leased, instances, contexts }: Ready, meanwhile: Meanwhile) {
  contexts.faultIsOver();
  const mendedMs = performance.now();
  await act.recovered();
  act.expect(await allReady(act, leased, 30_000), 'the leased instances did not all come back within 30 s (I4)');
  const backSec = (performance.now() - mendedMs) / 1_000;
  await expectRegistersAgain(act, act.stage.urls[0]!);
  await contexts.finish();
  expectServed(act, meanwhile, abilities);
  await act.settle(load, meanwhile.load);
  instances.stop();
  act.notes.push(
    `the leased instances registered again ${instances.reregistrations} times; all were back after ${backSec.toFixed(1)} s`,
  );
}

async function allReady(act: Act, leased: string, limitMs: number): Promise<boolean> {
  const everywhere = async () => {
    const counts = await Promise.all(act.stage.urls.map((url) => readyCount(url, leased)));
    return counts.every((count) => count === INSTANCES);
  };
  return eventually(everywhere, { limitMs });
}
