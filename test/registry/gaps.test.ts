import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { IWatchResponse } from 'etcd3';
import { startEtcd, type RunningEngine } from '../../src/engines';
import type { AgentVersion } from '../../src/protocol/world';
import { Registry, RegistryView } from '../../src/registry';
import { PrefixWatch } from '../../src/registry/mirror/prefix-watch';
import {
  descriptorOf,
  eventually,
  placesForEachTest,
  openRelay,
  refusal,
  sharedEtcdAddress,
  type Place,
} from './support';

const beat = { status: 'ready', load: 0 } as const;
const open = placesForEachTest();

function newRegistry(place: Place): Registry {
  const registry = new Registry(place.options, { minTtlSec: 1 });
  place.onClose(() => registry.close());
  return registry;
}

async function startView(place: Place, refreshIntervalMs = 60_000): Promise<RegistryView> {
  const view = new RegistryView({ ...place.options, refreshIntervalMs });
  place.onClose(() => view.stop());
  await view.start();
  return view;
}

const withoutGone = (agents: readonly AgentVersion[]) => agents.map((agent) => ({ ...agent, gone: undefined }));

async function expectFresh(place: Place, view: RegistryView): Promise<void> {
  const fresh = await startView(place);
  await eventually(() => {
    expect(withoutGone(view.world().agents)).toEqual(withoutGone(fresh.world().agents));
    return true;
  });
}

it('a watch that was cut while revisions were compacted away is replaced by a listing', async () => {
  const relay = await openRelay(sharedEtcdAddress());
  const near = open();
  const far = open(relay.address);
  far.onClose(() => relay.close());
  far.options.keyPrefix = near.options.keyPrefix;
  const registry = newRegistry(near);
  await registry.registerDescriptor(descriptorOf());
  await registry.registerDescriptor(descriptorOf({ name: 'doomed' }));
  const view = await startView(far);
  relay.cut();
  await eventually(() => !view.staleness().connected);
  expect(view.world().agents).toHaveLength(2);
  await registry.deleteAgent('doomed');
  await registry.registerDescriptor(descriptorOf({ description: 'changed' }), { replace: true });
  await registry.registerInstance('refund', 'a', { version: '1.0.0' });
  const { header } = await near.etcd.kv.range({ key: Buffer.from('x') });
  await near.etcd.kv.compact({ revision: header.revision, physical: true });
  relay.mend();
  await eventually(() => view.staleness().connected);
  expect(view.staleness().lastSyncAgeMs).toBeLessThan(5_000);
  expect(view.world().agents).toMatchObject([
    { name: 'refund', descriptor: { description: 'changed' }, instances: [{ instance_id: 'a' }] },
  ]);
  await expectFresh(near, view);
  await registry.registerDescriptor(descriptorOf({ name: 'later' }));
  await eventually(() => view.world().agents.length === 2);
});

it('a watch from a compacted revision reports the gap', async () => {
  const { etcd, options } = open();
  for (let n = 0; n < 3; n++) await etcd.put(`${options.keyPrefix}/x`).value(n);
  const { header } = await etcd.kv.range({ key: Buffer.from('x') });
  await etcd.kv.compact({ revision: header.revision });
  const gap = new Promise<string>((resolve, reject) => {
    const watching = PrefixWatch.open({
      etcd,
      prefix: options.keyPrefix,
      fromRevision: Number(header.revision) - 2,
      onEvents: () => undefined,
      onGap: resolve,
    });
    watching.then((watch) => watch.release(), reject);
  });
  expect(await gap).toMatch(/compacted/);
});

it('a revision that the watch skipped is found by the audit', async () => {
  const place = open();
  const registry = newRegistry(place);
  const watchClient = place.etcd.watchClient;
  const openStream = watchClient.watch.bind(watchClient);
  let deaf = false;
  const unheard: string[] = [];
  jest.spyOn(watchClient, 'watch').mockImplementation(async () => {
    const stream = await openStream();
    const on = stream.on.bind(stream);
    const lossy = (event: string, listener: (response: IWatchResponse) => void) =>
      on(
        event as 'data',
        event === 'data'
          ? (response: IWatchResponse) => {
              if (!deaf || response.events.length === 0) return listener(response);
              unheard.push(...response.events.map(({ kv }) => kv.key.toString()));
            }
          : listener,
      );
    return Object.assign(stream, { on: lossy });
  });
  await registry.registerDescriptor(descriptorOf({ name: 'doomed' }));
  const view = await startView(place, 200);
  await registry.registerDescriptor(descriptorOf({ name: 'heard' }));
  await eventually(() => view.world().agents.length === 2);
  deaf = true;
  await registry.registerDescriptor(descriptorOf({ name: 'missed' }));
  await registry.deleteAgent('doomed');
  await eventually(() => unheard.some((key) => key.includes('/doomed/')));
  deaf = false;
  expect(view.world().agents.map(({ name }) => name)).toEqual(['doomed', 'heard']);
  await eventually(() => view.world().agents.length === 2 && view.world().agents[1]!.name === 'missed');
  expect(view.world().agents.map(({ name }) => name)).toEqual(['heard', 'missed']);
  expect(place.options.logger.lines.filter(({ message }) => message.includes('gap'))).toHaveLength(1);
});

it('audits of a busy registry find nothing', async () => {
  const place = open();
  const registry = newRegistry(place);
  await registry.registerDescriptor(descriptorOf());
  const view = await startView(place, 30);
  for (let n = 0; n < 40; n++) {
    const { epoch } = await registry.registerInstance('refund', `pod-${n % 5}`, { version: '1.0.0' });
    if (n % 2 === 0) await registry.deregister('refund', `pod-${n % 5}`, epoch);
  }
  await sleep(100);
  expect(place.options.logger.lines).toEqual([]);
  await expectFresh(place, view);
});

describe('when etcd itself goes away', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'registry-etcd-'));
  let engine: RunningEngine;
  beforeAll(async () => {
    engine = await startEtcd({ dataDir: join(dataDir, 'first') });
  });
  afterAll(async () => {
    await engine.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function setUp() {
    const place = open(engine.address);
    const registry = newRegistry(place);
    await registry.registerDescriptor(descriptorOf());
    return { place, registry, view: await startView(place, 500) };
  }
  const restart = async (folder: string) => {
    engine = await startEtcd({ dataDir: join(dataDir, folder), port: Number(engine.address.split(':')[1]) });
  };

  it('killed and restarted: calls fail fast, the view stands, nothing is lost, all comes back by itself', async () => {
    const { place, registry, view } = await setUp();
    const kept = await registry.registerInstance('refund', 'kept', { version: '1.0.0', ttl_sec: 30 });
    await eventually(() => view.world().agents[0]!.instances.length === 1);
    engine.kill('SIGKILL');
    await engine.exited;
    await eventually(() => !view.staleness().connected);
    const startedMs = performance.now();
    for (const call of [
      registry.heartbeat('refund', 'kept', { epoch: kept.epoch, ...beat }),
      registry.registerInstance('refund', 'b', { version: '1.0.0' }),
      registry.registerDescriptor(descriptorOf({ name: 'x' })),
      registry.deleteAgent('refund'),
    ]) {
      expect(await refusal(call)).toMatchObject({ code: 'engine_unavailable' });
    }
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(view.world().agents[0]!.instances).toMatchObject([{ instance_id: 'kept', status: 'ready' }]);
    await restart('first');
    const backMs = performance.now();
    await eventually(() => registry.heartbeat('refund', 'kept', { epoch: kept.epoch, ...beat }));
    await eventually(() => view.staleness().connected);
    expect(performance.now() - backMs).toBeLessThan(15_000);
    await registry.registerInstance('refund', 'b', { version: '1.0.0' });
    await eventually(() => view.world().agents[0]!.instances.length === 2);
    await expectFresh(place, view);
  });

  it('frozen for longer than a lease (R02): nobody vanishes meanwhile, then the lease has expired', async () => {
    const { registry, view } = await setUp();
    const { epoch } = await registry.registerInstance('refund', 'a', { version: '1.0.0', ttl_sec: 5 });
    await eventually(() => view.world().agents[0]!.instances.length === 1);
    engine.kill('SIGSTOP');
    const startedMs = performance.now();
    expect(await refusal(registry.heartbeat('refund', 'a', { epoch, ...beat }))).toMatchObject({
      code: 'engine_unavailable',
    });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    await eventually(() => !view.staleness().connected);
    await sleep(Math.max(1_000, 6_000 - (performance.now() - startedMs)));
    expect(view.world().agents[0]!.instances).toHaveLength(1);
    engine.kill('SIGCONT');
    await eventually(() => view.world().agents[0]!.instances.length === 0);
    expect(await refusal(registry.heartbeat('refund', 'a', { epoch, ...beat }))).toMatchObject({
      code: 'lease_expired',
    });
    const again = await registry.registerInstance('refund', 'a', { version: '1.0.0', ttl_sec: 5 });
    expect(BigInt(again.epoch)).toBeGreaterThan(BigInt(epoch));
    await eventually(() => view.world().agents[0]!.instances.length === 1 && view.staleness().connected);
  });

  it('replaced by an empty one: the view follows, although revisions went back', async () => {
    const { registry, view } = await setUp();
    expect(view.world().agents).toHaveLength(1);
    await engine.stop();
    await restart('second');
    await eventually(() => view.staleness().connected && view.world().agents.length === 0);
    await registry.registerDescriptor(descriptorOf({ name: 'anew' }));
    await eventually(() => view.world().agents[0]?.name === 'anew');
  });
});
