import { setTimeout as sleep } from 'node:timers/promises';
import { RegistryView } from '../../../src/registry';
import { WorkerCensus } from '../../../src/registry/limits/worker-census';
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import { descriptorOf as draftOf } from '../../support/scripted-agent';
import { startHttpAgent, type ScriptedHttpAgent } from '../../support/scripted-http-agent';
import { waitFor } from '../../support/wait-for';
import { openPlace, type Place } from '../support';
import { startPrivateEtcd, type PrivateEtcd } from './support';

const QUOTA_BYTES = 4 * 1_048_576;
const TTL_SEC = 5;
let etcd: PrivateEtcd;
let place: Place;
let view: RegistryView;
let gateway: TestGateway;
let agent: ScriptedHttpAgent;
let beating: NodeJS.Timeout | undefined;

beforeAll(async () => {
  etcd = await startPrivateEtcd({ quotaBackendBytes: QUOTA_BYTES });
  place = openPlace(etcd.address);
  gateway = await startGateway({ etcd: etcd.address, config: { registry: { refresh_interval: '500ms' } } });
  place.options.keyPrefix = `/${gateway.platform}`;
  view = new RegistryView({ ...place.options, refreshIntervalMs: 500 });
  place.onClose(() => view.stop());
  await view.start();
  agent = await startHttpAgent(gateway.api, { name: 'frugal' });
});
afterEach(() => clearInterval(beating));
afterAll(async () => {
  await agent?.close();
  await gateway?.close();
  await place?.close();
  await etcd?.stop();
});

/** Writes until etcd refuses. */
async function fill(): Promise<void> {
  const megabyte = Buffer.alloc(1_000_000, 'x');
  for (;;) {
    const refused = await place.etcd
      .put('/junk')
      .value(megabyte)
      .then(() => null)
      .catch((error: Error) => error.message);
    if (refused !== null) return expect(refused).toContain('space exceeded');
  }
}

/** What the message advises. */
async function makeSpace(): Promise<void> {
  await place.etcd.delete().key('/junk');
  const { header } = await place.etcd.kv.range({ key: Buffer.from('x') });
  await place.etcd.kv.compact({ revision: header.revision, physical: true });
  await place.etcd.maintenance.defragment();
  const { alarms } = await place.etcd.maintenance.alarm({ action: 'Get' });
  for (const { memberID } of alarms)
    await place.etcd.maintenance.alarm({ action: 'Deactivate', memberID, alarm: 'Nospace' });
}

it('out of space: writes are refused with advice, leases live on, reaches go on, and space brings all back', async () => {
  const path = '/v1/agents/frugal/instances/pod';
  const { body: held } = await gateway.api.put(path, { version: '1.0.0', ttl_sec: TTL_SEC, host: agent.url });
  const { body: leaver } = await gateway.api.put(`${path}-2`, { version: '1.0.0', ttl_sec: 60, host: agent.url });
  const beat = () => gateway.api.post(`${path}/heartbeat`, { epoch: held.epoch, status: 'ready', load: 0.5 });
  const instance = (id: string) => view.world().agents[0]?.instances.find(({ instance_id }) => instance_id === id);
  await waitFor('both instances', () => instance('pod') && instance('pod-2'));
  await fill();

  const refused = await Promise.all([
    gateway.api.post('/v1/agents', draftOf({ name: 'newcomer' }, 'http')),
    gateway.api.put(path, { version: '1.0.0', ttl_sec: TTL_SEC }),
    gateway.api.put(`${path}-3`, { version: '1.0.0' }),
  ]);
  for (const answer of refused) {
    const problem = expectProblem(answer, 'engine_unavailable');
    expect(problem).toMatchObject({ retryable: true, retry_after_ms: expect.any(Number) });
    expect(problem.detail).toMatch(/out of space: compact, defragment and disarm/);
  }
  // What is registered already stays so, for longer than the lease, on heartbeats alone.
  for (let beats = 0; beats < 7; beats++) {
    const answer = await beat();
    expect(answer).toMatchObject({ status: 200, body: { remaining_sec: TTL_SEC } });
    await sleep(1_000);
  }
  expect(instance('pod')).toMatchObject({ load: 0 });
  expectProblem(await gateway.api.post(`${path}-9/heartbeat`, { epoch: 1, status: 'ready', load: 0 }), 'lease_expired');
  expectProblem(await gateway.api.post(`${path}/heartbeat`, { epoch: 1, status: 'ready', load: 0 }), 'stale_epoch');
  expect((await gateway.api.reach({ ability: agent.ability })).body).toMatchObject({ status: 'completed' });
  expect((await gateway.api.get('/readyz')).body).toMatchObject({ ready: true, registry: { connected: true } });
  // A gateway that starts now serves, and a worker makes one call at a time though it cannot be announced.
  // All that follows takes longer than the lease.
  beating = setInterval(() => void beat().catch(() => undefined), 1_000);
  const late = await startGateway({ etcd: etcd.address, platform: gateway.platform, withWorker: false });
  expect((await late.api.reach({ ability: agent.ability })).body).toMatchObject({ status: 'completed' });
  await late.close();
  const census = new WorkerCensus(place.options);
  await census.start();
  expect([census.share(10), census.count]).toEqual([1, 1]);
  // Leaving needs no space.
  expect((await gateway.api.delete(`${path}-2?epoch=${leaver.epoch}`)).status).toBe(204);
  await waitFor('the leaver being gone', () => instance('pod-2') === undefined);

  await makeSpace();
  await waitFor('the worker that is announced now', () => census.share(10) === 5);
  await census.stop();
  await waitFor('the load', async () => (await beat()).status === 200 && instance('pod')?.load === 0.5);
  expect((await gateway.api.post('/v1/agents', draftOf({ name: 'newcomer' }, 'http'))).status).toBe(201);
  expect((await gateway.api.put(`${path}-3`, { version: '1.0.0' })).status).toBe(200);
  expect((await gateway.api.reach({ ability: agent.ability })).body).toMatchObject({ status: 'completed' });
});
