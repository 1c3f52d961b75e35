import { Registry, RegistryView, type RegistryViewOptions } from '../../src/registry';
import { Keyspace } from '../../src/registry/keys';
import { encodeRecord } from '../../src/registry/records';
import { descriptorOf, eventually, openPlace, type Place } from './support';

let place: Place;
let registry: Registry;
let keys: Keyspace;

beforeEach(() => {
  place = openPlace();
  registry = new Registry(place.options);
  keys = new Keyspace(place.options.keyPrefix, 'default');
  place.onClose(() => registry.close());
});
afterEach(() => place.close());

async function startView(extra: Partial<RegistryViewOptions> = {}): Promise<RegistryView> {
  const view = new RegistryView({ ...place.options, refreshIntervalMs: 60_000, ...extra });
  place.onClose(() => view.stop());
  await view.start();
  return view;
}

describe('the world', () => {
  it('follows changes, keeps what did not change by identity, and is immutable', async () => {
    await registry.registerDescriptor(descriptorOf());
    await registry.registerDescriptor(descriptorOf({ name: 'calm', version: '1.9.0' }));
    await registry.registerDescriptor(descriptorOf({ name: 'calm', version: '1.10.0' }));
    const view = await startView();
    const before = view.world();
    expect(before.agents.map(({ name, version }) => `${name}@${version}`)).toEqual([
      'calm@1.9.0',
      'calm@1.10.0',
      'refund@1.0.0',
    ]);
    expect(view.world()).toBe(before);
    await registry.registerInstance('refund', 'a', { version: '1.0.0' });
    await eventually(() => view.world().agents[2]!.instances.length === 1);
    const after = view.world();
    expect(after.agents.slice(0, 2)).toEqual(before.agents.slice(0, 2));
    expect(after.agents[0]).toBe(before.agents[0]);
    expect(after.agents[2]).not.toBe(before.agents[2]);
    expect(after.agents[2]!.descriptor).toBe(before.agents[2]!.descriptor);
    expect(after.revision).not.toBe(before.revision);
    expect(() => (after.agents as unknown[]).push(1)).toThrow(TypeError);
    expect(() => (after.agents[2]!.instances[0]!.load = 3)).toThrow(TypeError);
    expect(() => (after.agents[2]!.descriptor.capabilities[0]!.name = 'x')).toThrow(TypeError);
    expect(before.agents[2]!.instances).toEqual([]);
  });

  it('is not rebuilt for heartbeats that say nothing new', async () => {
    await registry.registerDescriptor(descriptorOf());
    const { epoch } = await registry.registerInstance('refund', 'a', { version: '1.0.0' });
    const view = await startView();
    const before = view.world();
    const heard = view.agent('refund')[0]!.instances[0]!.last_heartbeat!;
    let told = 0;
    const stop = view.onChange(() => told++);
    await registry.heartbeat('refund', 'a', { epoch, status: 'ready', load: 0 });
    await eventually(() => view.agent('refund')[0]!.instances[0]!.last_heartbeat! > heard);
    expect(view.world()).toBe(before);
    expect(told).toBe(0);
    await registry.heartbeat('refund', 'a', { epoch, status: 'ready', load: 0.5 });
    await eventually(() => told === 1);
    stop();
    await registry.heartbeat('refund', 'a', { epoch, status: 'busy', load: 1 });
    await eventually(() => view.world().agents[0]!.instances[0]!.status === 'busy');
    expect(told).toBe(1);
  });

  it('shows static addresses, one instance each, ready until something says otherwise', async () => {
    const address = ['http://a.example/run', 'http://b.example/run'];
    await registry.registerDescriptor(descriptorOf({ max_concurrency: 5, endpoint: { protocol: 'http', address } }));
    const view = await startView();
    expect(view.world().agents[0]!.instances).toMatchObject([
      {
        instance_id: 'static-0',
        host: address[0],
        status: 'ready',
        health: 'unknown',
        source: 'static',
        max_concurrency: 5,
      },
      { instance_id: 'static-1', host: address[1], status: 'ready' },
    ]);
    await registry.registerInstance('refund', 'pod', { version: '1.0.0' });
    await eventually(() => view.world().agents[0]!.instances.length === 3);
    expect(view.world().agents[0]!.instances[2]).toMatchObject({
      instance_id: 'pod',
      source: 'lease',
      max_concurrency: 5,
    });
  });

  it('counts an instance as busy when we have as many calls in flight there as it takes', async () => {
    await registry.registerDescriptor(
      descriptorOf({ max_concurrency: 2, endpoint: { protocol: 'http', address: 'http://a.example/' } }),
    );
    let inFlight = 2;
    const measured = { requests: 0, failures: 0, p50_ms: null, p95_ms: null, p99_ms: null };
    const view = await startView({
      stats: { ability: () => null, instance: () => ({ ...measured, in_flight: inFlight }) },
    });
    const one = () => view.world().agents[0]!.instances[0]!;
    await eventually(() => one().status === 'busy');
    expect(one()).toMatchObject({
      status_reason: '2 in flight of at most 2',
      in_flight: 2,
      since: expect.stringMatching(/Z$/),
    });
    inFlight = 1;
    await eventually(() => one().status === 'ready');
    expect(view.agent('refund')[0]!.instances[0]).toMatchObject({ in_flight: 1 });
  });

  it('takes no notice of health that was found for an earlier registration or another address', async () => {
    await registry.registerDescriptor(descriptorOf({ endpoint: { protocol: 'http', address: 'http://a.example/' } }));
    const { epoch } = await registry.registerInstance('refund', 'pod', { version: '1.0.0' });
    const view = await startView();
    const write = (item: string, target: string) =>
      place.etcd
        .put(keys.record('health', 'refund', item))
        .value(encodeRecord({ state: 'failing', since: '2026-01-01T00:00:00Z', reason: 'answered HTTP 500', target }));
    await write('pod', `epoch:${Number(epoch) - 1}`);
    await write('static-0@1.0.0', 'http://b.example/');
    await registry.registerDescriptor(descriptorOf({ name: 'after' }));
    await eventually(() => view.world().agents.length === 2);
    const refund = () => view.world().agents[1]!.instances.map((instance) => instance.health);
    expect(refund()).toEqual(['unknown', 'unknown']);
    await write('pod', `epoch:${epoch}`);
    await write('static-0@1.0.0', 'http://a.example/');
    await eventually(() => refund().every((state) => state === 'failing'));
  });

  it('reads more keys than fit on a page', async () => {
    const value = (name: string) =>
      encodeRecord({ descriptor: descriptorOf({ name }), registered_at: '2026-01-01T00:00:00Z' });
    for (let from = 0; from < 1_100; from += 100) {
      const names = Array.from({ length: 100 }, (_, n) => `agent-${from + n}`);
      const success = names.map((name) => ({
        request_put: { key: Buffer.from(keys.record('agent', name, '1.0.0')), value: Buffer.from(value(name)) },
      }));
      await place.etcd.kv.txn({ compare: [], success, failure: [] });
    }
    const view = await startView();
    expect(view.world().agents).toHaveLength(1_100);
    await registry.deleteAgent('agent-1099');
    await eventually(() => view.world().agents.length === 1_099);
  });
});

describe('values that do not fit', () => {
  const put = (key: string, value: string) => place.etcd.put(key).value(value);

  it('are skipped with a log line, whether they come in by listing or by watching', async () => {
    await registry.registerDescriptor(descriptorOf());
    const bad: [string, string][] = [
      [keys.record('agent', 'broken', '1.0.0'), '{"v":1,'],
      [keys.record('agent', 'renamed', '1.0.0'), encodeRecord({ descriptor: descriptorOf(), registered_at: 'x' })],
      [
        keys.record('agent', 'future', '1.0.0'),
        JSON.stringify({ v: 2, descriptor: descriptorOf({ name: 'future' }), registered_at: 'x' }),
      ],
      [keys.record('beat', 'refund', 'a'), 'null'],
      [`${keys.registry}agent/%E0%A4%A/1`, '{}'],
      [`${keys.registry}else/x/y`, '{}'],
    ];
    for (const [key, value] of bad.slice(0, 2)) await put(key, value);
    const view = await startView();
    for (const [key, value] of bad.slice(2)) await put(key, value);
    await registry.registerDescriptor(descriptorOf({ name: 'after' }));
    await eventually(() => view.world().agents.length === 2);
    expect(view.world().agents.map(({ name }) => name)).toEqual(['after', 'refund']);
    const logged = place.options.logger.lines
      .filter(({ message }) => message.includes('unreadable'))
      .map(({ details }) => (details as { key: string }).key);
    expect(logged.sort()).toEqual(
      bad
        .slice(0, 4)
        .map(([key]) => key)
        .sort(),
    );
  });

  it('of a newer release are read as far as they are understood', async () => {
    const descriptor = { ...descriptorOf({ name: 'newer' }), priority: 7 };
    await put(
      keys.record('agent', 'newer', '1.0.0'),
      JSON.stringify({ v: 1, descriptor, registered_at: '2026-01-01T00:00:00Z', region: 'eu' }),
    );
    const view = await startView();
    expect(view.world().agents).toMatchObject([
      { name: 'newer', descriptor: { capabilities: [{ name: 'refund_order' }] } },
    ]);
  });
});
