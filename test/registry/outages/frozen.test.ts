import { setTimeout as sleep } from 'node:timers/promises';
import { RegistryView } from '../../../src/registry';
import { ReachAgent } from '../../../src/sdk/agent';
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import { waitFor } from '../../support/wait-for';
import { quietLog } from '../../sdk/scripted-registry';
import { openPlace, type Place } from '../support';
import { startPrivateEtcd, type PrivateEtcd } from './support';

const TTL_SEC = 5;
const FROZEN_MS = 12_000;
const ABILITY = 'frozen.work';
let etcd: PrivateEtcd;
let place: Place;
let gateway: TestGateway;
let view: RegistryView;
let agent: ReachAgent;

beforeAll(async () => {
  etcd = await startPrivateEtcd();
  gateway = await startGateway({ etcd: etcd.address, config: { registry: { refresh_interval: '1s' } } });
  place = openPlace(etcd.address);
  place.options.keyPrefix = `/${gateway.platform}`;
  view = new RegistryView({ ...place.options, refreshIntervalMs: 1_000 });
  place.onClose(() => view.stop());
  await view.start();
  agent = new ReachAgent({
    descriptor: { name: 'frozen', version: '1.0.0', capabilities: [ABILITY], endpoint: { protocol: 'http' } },
    gateway: gateway.url,
    handlers: { [ABILITY]: () => ({ answer: 'here' }) },
    instanceId: 'pod',
    ttlSec: TTL_SEC,
    log: quietLog(),
  });
  await agent.start();
  await waitFor('a first reach', async () => (await call()).status === 200);
});
afterAll(async () => {
  etcd?.thaw();
  await agent?.stop();
  await gateway?.close();
  await place?.close();
  await etcd?.stop();
});

const call = () => gateway.api.reach({ ability: ABILITY });

async function registrations(): Promise<{ epoch: string; lease: string }[]> {
  const { kvs } = await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/registry/instance/`).exec();
  return kvs.map(({ mod_revision, lease }) => ({ epoch: mod_revision, lease }));
}

/** Calls until told to stop; answers what came back. */
function keepCalling(): { stop(): Promise<Awaited<ReturnType<typeof call>>[]> } {
  const answers: Awaited<ReturnType<typeof call>>[] = [];
  let going = true;
  const loop = (async () => {
    for (; going; await sleep(50)) answers.push(await call());
  })();
  return {
    async stop() {
      going = false;
      await loop;
      return answers;
    },
  };
}

/** Served, or refused as a thing that passes; in either case soon. */
function expectServedOrRefused(answers: Awaited<ReturnType<typeof call>>[]): void {
  for (const answer of answers) {
    expect(answer.ms).toBeLessThan(5_000);
    if (answer.status === 200) continue;
    expect(expectProblem(answer, 'no_ready_instance')).toMatchObject({ retryable: true });
  }
}

it('etcd frozen for longer than the lease: lost in time, served meanwhile, back under a new lease (R02)', async () => {
  const [before] = await registrations();
  const lost = new Promise<number>((resolve) => agent.once('lost', () => resolve(performance.now())));
  const again = new Promise<{ epoch: string }>((resolve) => agent.once('re-registered', resolve));
  etcd.freeze();
  const frozenMs = performance.now();
  const calling = keepCalling();
  expect((await lost) - frozenMs).toBeLessThan(TTL_SEC * 1_000 + 5_000);
  expect(agent.registration).toBe('lost');
  // Nobody is deregistered by mistake: the view keeps what it knew, and the agent is there.
  const meanwhile = await calling.stop();
  expect(meanwhile.length).toBeGreaterThan(1);
  expect(new Set(meanwhile.map(({ status }) => status))).toEqual(new Set([200]));
  // The gateway finds out by a clock of its own.
  const unready = await waitFor('the gateway knowing', async () => {
    const { body } = await gateway.api.get('/readyz');
    return body.registry.connected === false && (body as object);
  });
  expect(unready).toMatchObject({ ready: false, registry: { connected: false } });
  await sleep(FROZEN_MS - (performance.now() - frozenMs));
  const gap = keepCalling();
  etcd.thaw();
  const thawedMs = performance.now();
  const { epoch } = await again;
  await waitFor('being routed again', () => view.world().agents[0]?.instances[0]?.status === 'ready');
  expect(performance.now() - thawedMs).toBeLessThan(2 * TTL_SEC * 1_000);
  expectServedOrRefused(await gap.stop());
  const now = await registrations();
  expect(now).toEqual([{ epoch, lease: expect.any(String) }]);
  expect(BigInt(epoch)).toBeGreaterThan(BigInt(before!.epoch));
  expect(now[0]!.lease).not.toBe(before!.lease);
  await waitFor('a reach', async () => (await call()).status === 200);
  await waitFor('readiness', async () => (await gateway.api.get('/readyz')).body.ready as boolean);
});

it('a lease revoked by hand on a healthy connection: refused at once, back with the next heartbeat (R02)', async () => {
  const [before] = await registrations();
  const again = new Promise<{ epoch: string }>((resolve) => agent.once('re-registered', resolve));
  // Right after a heartbeat: one that follows the revocation at once would leave no gap to be seen.
  const left = async () => Number((await place.etcd.leaseClient.leaseTimeToLive({ ID: before!.lease })).TTL);
  let known = await left();
  await waitFor('a heartbeat', async () => {
    const [was, now] = [known, await left()];
    known = now;
    return now > was;
  });
  await place.etcd.leaseClient.leaseRevoke({ ID: before!.lease });
  const revokedMs = performance.now();
  await waitFor('the gap', () => view.world().agents[0]?.instances.length === 0);
  const calling = keepCalling();
  const { epoch } = await again;
  expect(performance.now() - revokedMs).toBeLessThan(2 * TTL_SEC * 1_000);
  const answers = await calling.stop();
  expectServedOrRefused(answers);
  expect(answers.some(({ body }) => body.code === 'no_ready_instance')).toBe(true);
  const now = await registrations();
  expect(now).toEqual([{ epoch, lease: expect.any(String) }]);
  expect(BigInt(epoch)).toBeGreaterThan(BigInt(before!.epoch));
  await waitFor('a reach', async () => (await call()).status === 200);
});
