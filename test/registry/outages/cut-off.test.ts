import type { Api } from '../../support/api';
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import { startHttpAgent, type ScriptedHttpAgent } from '../../support/scripted-http-agent';
import { waitFor } from '../../support/wait-for';
import { Registry, RegistryView } from '../../../src/registry';
import { descriptorOf, eventually, openPlace, refusal, type Place } from '../support';
import { openFaultyRelay, type FaultyRelay } from './relay';

const etcdAddress = () => process.env.TEST_ETCD_ADDRESS ?? '';
let relay: FaultyRelay;
const closers: (() => unknown)[] = [];

beforeEach(async () => {
  relay = await openFaultyRelay(etcdAddress());
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await relay.close();
});

/** A registry and a view behind the relay, and one beside it that is not cut off. */
async function behindAndBeside(): Promise<{ view: RegistryView; registry: Registry; beside: Registry; near: Place }> {
  const near = openPlace();
  const far = openPlace(relay.address);
  far.options.keyPrefix = near.options.keyPrefix;
  const [registry, beside] = [far, near].map(({ options }) => new Registry(options, { minTtlSec: 1 })) as [
    Registry,
    Registry,
  ];
  // No audit helps within this test.
  const view = new RegistryView({ ...far.options, refreshIntervalMs: 600_000 });
  closers.push(
    () => near.close(),
    () => far.close(),
    () => view.stop(),
    () => registry.close(),
    () => beside.close(),
  );
  await beside.registerDescriptor(descriptorOf());
  await view.start();
  return { view, registry, beside, near };
}

it.each(['cut', 'silence'] as const)(
  'a connection that is lost (%s): the view stands, says so, and catches up',
  async (fault) => {
    const { view, registry, beside, near } = await behindAndBeside();
    const { epoch } = await beside.registerInstance('refund', 'stays', { version: '1.0.0', ttl_sec: 60 });
    // Long enough to be seen before the line fails, on a busy machine as well.
    await beside.registerInstance('refund', 'goes', { version: '1.0.0', ttl_sec: 6 });
    await eventually(() => view.world().agents[0]?.instances.length === 2);
    relay[fault]();
    await eventually(() => !view.staleness().connected, 15_000);
    const agedMs = view.staleness().lastSyncAgeMs;
    const askedMs = performance.now();
    expect(await refusal(registry.heartbeat('refund', 'stays', { epoch, status: 'ready', load: 0 }))).toMatchObject({
      code: 'engine_unavailable',
    });
    expect(performance.now() - askedMs).toBeLessThan(10_000);
    await beside.registerDescriptor(descriptorOf({ name: 'newcomer' }));
    await eventually(async () => {
      const { kvs } = await near.etcd.getAll().prefix(`${near.options.keyPrefix}/default/registry/instance/`).exec();
      return kvs.length === 1;
    });
    expect(view.world().agents.map(({ name, instances }) => [name, instances.length])).toEqual([['refund', 2]]);
    expect(view.staleness().lastSyncAgeMs).toBeGreaterThan(agedMs);
    // Compacted meanwhile: there is no way back by the old watch (fault 5).
    const { header } = await near.etcd.kv.range({ key: Buffer.from('x') });
    await near.etcd.kv.compact({ revision: header.revision });
    relay.mend();
    const mendedMs = performance.now();
    await eventually(() => view.staleness().connected && view.world().agents.length === 2, 20_000);
    await eventually(() => registry.heartbeat('refund', 'stays', { epoch, status: 'ready', load: 0 }), 20_000);
    expect(performance.now() - mendedMs).toBeLessThan(15_000);
    expect(view.world().agents.map(({ instances }) => instances.map(({ instance_id }) => instance_id))).toEqual([
      [],
      ['stays'],
    ]);
    await beside.registerInstance('newcomer', 'later', { version: '1.0.0' });
    await eventually(() => view.world().agents[0]?.instances.length === 1);
  },
);

describe('a gateway cut off from etcd alone', () => {
  let gateway: TestGateway;
  let agent: ScriptedHttpAgent;
  const report = async (api: Api) => (await api.get('/readyz')).body as { ready: boolean; registry: object };

  it('goes on with what it knows, says how old that is, and comes back by itself', async () => {
    gateway = await startGateway({ etcd: relay.address, config: { registry: { refresh_interval: '10m' } } });
    closers.push(() => gateway.close());
    agent = await startHttpAgent(gateway.api, { name: 'steady' });
    closers.push(() => agent.close());
    await waitFor('the agent', async () => (await gateway.api.reach({ ability: agent.ability })).status === 200);
    relay.silence();
    await waitFor('not being ready', async () => !(await report(gateway.api)).ready);
    const first = await gateway.api.get('/readyz');
    expect(first).toMatchObject({ status: 503, body: { temporal: 'ok', registry: { connected: false } } });
    expect((await gateway.api.reach({ ability: agent.ability })).body).toMatchObject({ status: 'completed' });
    expectProblem(await gateway.api.put('/v1/agents/steady/instances/b', { version: '1.0.0' }), 'engine_unavailable');
    const { body } = await gateway.api.get('/readyz');
    expect(body.registry.last_sync_age_ms).toBeGreaterThan(first.body.registry.last_sync_age_ms as number);
    relay.mend();
    await waitFor('being ready', async () => (await report(gateway.api)).ready, 20_000);
    await waitFor(
      'a registration',
      async () => (await gateway.api.put('/v1/agents/steady/instances/b', { version: '1.0.0' })).status === 200,
      20_000,
    );
  });
});
