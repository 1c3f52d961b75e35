import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../harness/act';
import { http } from '../harness/http';
import type { Scenario } from '../harness/scenario';
import { eventually } from '../harness/waiting';
import { contextClients } from './context-store';
import { isReady, leaseInstance } from './leased-instance';

/** Shorter than the fault, so that leases run out behind the platform's back. */
const TTL_SEC = 5;

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
    const { load, leased, lease, contexts } = await prepare(act, 12_000);
    await sleep(1_000);
    act.say('pausing etcd');
    act.stage.etcd.kill('SIGSTOP');
    const url = act.stage.urls[0]!;
    const said = await eventually(
      async () => (await http('GET', `${url}/readyz`, { limitMs: 3_000 }))?.status === 503,
      {
        limitMs: 10_000,
      },
    );
    act.expect(said, '/readyz never said that the registry is cut off');
    const written = await http('POST', `${url}/v1/agents`, { body: { name: 'nobody' }, limitMs: 10_000 });
    act.expect((written?.status ?? 503) >= 400, 'a registration was confirmed although etcd is paused');
    await sleep(TTL_SEC * 1_000 + 1_000);
    act.stage.etcd.kill('SIGCONT');
    await act.recovered();
    await backInRouting(act, leased);
    await contexts.finish();
    await act.settle(load);
    lease.stop();
    act.notes.push(`the leased instance registered again ${lease.reregistrations} times`);
  },
};

/** etcd is killed and started again on its data: what was answered is there (I3). */
export const etcdKilled: Scenario = {
  row: 4,
  name: 'etcd killed and restarted',
  floor: 0.95,
  stage: { workers: 1 },
  async run(act) {
    const { load, leased, lease, contexts } = await prepare(act, 6_000);
    await sleep(800);
    act.say('killing etcd');
    act.stage.etcd.kill('SIGKILL');
    await act.stage.etcd.exited;
    await sleep(1_500);
    act.say('starting etcd again');
    await act.stage.etcd.restart();
    await act.recovered();
    await backInRouting(act, leased);
    await contexts.finish();
    await act.settle(load);
    lease.stop();
    act.notes.push(`the leased instance registered again ${lease.reregistrations} times`);
  },
};

async function prepare(act: Act, overMs: number) {
  const abilities = [await act.agent('static'), await act.agent('static-idempotent', { idempotent: true })];
  const leased = await act.agent('leased', { address: null });
  const lease = await leaseInstance(act, leased, TTL_SEC);
  await eventually(() => isReady(act.stage.urls[0]!, leased), { limitMs: 10_000 });
  const spread = Math.max(3_000, overMs * act.options.scale);
  const load = act.load({
    messages: act.scaled(120),
    overMs: spread,
    abilities: [...abilities, leased],
    failures: { share: 0.1, steps: ['error'] },
    repeats: 0.1,
  });
  return { load, leased, lease, contexts: contextClients(act) };
}

async function backInRouting(act: Act, leased: string): Promise<void> {
  const back = await eventually(() => isReady(act.stage.urls[0]!, leased), { limitMs: 30_000 });
  act.expect(back, 'the leased instance did not come back within 30 s (I4)');
}
