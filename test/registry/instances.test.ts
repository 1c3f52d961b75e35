import { setTimeout as sleep } from 'node:timers/promises';
import type { InstanceState } from '../../src/protocol/shapes';
import { Registry, RegistryView } from '../../src/registry';
import { descriptorOf, eventually, openPlace, refusal, type Place } from './support';

let place: Place;
let registry: Registry;
let view: RegistryView;

beforeEach(async () => {
  place = openPlace();
  registry = new Registry(place.options, { minTtlSec: 1 });
  view = new RegistryView({ ...place.options, refreshIntervalMs: 10_000 });
  place.onClose(() => registry.close());
  place.onClose(() => view.stop());
  await registry.registerDescriptor(descriptorOf({ max_concurrency: 8 }));
  await view.start();
});
afterEach(() => place.close());

const live = (): InstanceState[] => view.world().agents.flatMap(({ instances }) => instances);
const gone = (): InstanceState[] => view.world().agents.flatMap((agent) => agent.gone ?? []);
const beat = { status: 'ready', load: 0 } as const;

describe('registering an instance', () => {
  it('answers lease, epoch and time to live, and shows up as ready', async () => {
    const registration = await registry.registerInstance('refund', 'pod-1', {
      version: '1.0.0',
      host: 'http://10.0.0.5:8000/invoke',
      ttl_sec: 30,
      max_concurrency: 4,
    });
    expect(registration).toEqual({
      lease_id: expect.stringMatching(/^\d+$/),
      epoch: expect.stringMatching(/^\d+$/),
      ttl_sec: 30,
      warnings: [],
    });
    await eventually(() => live().length === 1);
    expect(live()[0]).toMatchObject({
      instance_id: 'pod-1',
      host: 'http://10.0.0.5:8000/invoke',
      version: '1.0.0',
      status: 'ready',
      max_concurrency: 4,
      health: 'unknown',
      source: 'lease',
    });
    expect(view.agent('refund')[0]!.instances[0]).toMatchObject({
      lease_remaining_sec: expect.any(Number),
      last_heartbeat: expect.any(String),
    });
  });

  it('gives each registration a greater epoch and a lease of its own', async () => {
    let last = 0n;
    const leases = new Set<string>();
    for (let n = 0; n < 5; n++) {
      const { epoch, lease_id } = await registry.registerInstance('refund', 'pod-1', { version: '1.0.0' });
      expect(BigInt(epoch)).toBeGreaterThan(last);
      last = BigInt(epoch);
      leases.add(lease_id);
    }
    expect(leases.size).toBe(5);
    await eventually(() => live().length === 1);
  });

  it('names unknown agents and versions, and what exists', async () => {
    expect(await refusal(registry.registerInstance('nobody', 'a', { version: '1.0.0' }))).toMatchObject({
      code: 'agent_not_found',
    });
    expect(await refusal(registry.registerInstance('Bad/Name', 'a', { version: '1.0.0' }))).toMatchObject({
      code: 'agent_not_found',
    });
    expect(await refusal(registry.registerInstance('refund', 'a', { version: '9.0.0' }))).toMatchObject({
      code: 'version_not_found',
      options: { diagnosis: { available_versions: ['1.0.0'] } },
    });
  });

  it.each([
    ['../refund/x', {}, '/instance_id'],
    ['a/b', {}, '/instance_id'],
    ['', {}, '/instance_id'],
    ['static-0', {}, '/instance_id'],
    ['x'.repeat(129), {}, '/instance_id'],
    ['a', { ttl_sec: 0 }, '/ttl_sec'],
    ['a', { ttl_sec: 2.5 }, '/ttl_sec'],
    ['a', { max_concurrency: 0 }, '/max_concurrency'],
    ['a', { host: 'not a url' }, '/host'],
    ['a', { host: 'http://user:pw@example.com/' }, '/host'],
  ])('refuses instance %j with %j', async (id, extra, pointer) => {
    const error = await refusal(registry.registerInstance('refund', id, { version: '1.0.0', ...extra }));
    expect(error).toMatchObject({ code: 'invalid_request', options: { errors: [{ pointer }] } });
  });

  it('warns about a time to live under ten heartbeats', async () => {
    const { warnings } = await registry.registerInstance('refund', 'a', { version: '1.0.0', ttl_sec: 5 });
    expect(warnings).toEqual([expect.stringContaining('ten heartbeat intervals')]);
  });
});

describe('heartbeats', () => {
  it('record status, load and calls in flight, and since when', async () => {
    const { epoch } = await registry.registerInstance('refund', 'a', { version: '1.0.0', max_concurrency: 2 });
    const one = () => live()[0]!;
    expect(
      await registry.heartbeat('refund', 'a', { epoch: Number(epoch), status: 'ready', load: 0.4, in_flight: 1 }),
    ).toEqual({ remaining_sec: 30 });
    await eventually(() => live().length === 1 && one().load === 0.4);
    expect(one()).toMatchObject({ status: 'ready', in_flight: 1 });
    const { since } = one();
    await registry.heartbeat('refund', 'a', { epoch, status: 'ready', load: 1, in_flight: 2 });
    const busy = await eventually(() => one().status === 'busy' && one());
    expect(busy.status_reason).toBe('2 in flight of at most 2');
    expect(busy.since > since).toBe(true);
    await registry.heartbeat('refund', 'a', { epoch, status: 'ready', load: 1.2, in_flight: 3 });
    const still = await eventually(() => one().load === 1.2 && one());
    expect(still.since).toBe(busy.since);
    await registry.heartbeat('refund', 'a', { epoch, status: 'draining', load: 0, in_flight: 2 });
    await eventually(() => one().status === 'draining');
  });

  it('keep the lease alive; without them it expires and the heartbeat says so', async () => {
    const { epoch, ttl_sec } = await registry.registerInstance('refund', 'a', { version: '1.0.0', ttl_sec: 5 });
    await eventually(() => live().length === 1);
    for (let n = 0; n < 5; n++) {
      await sleep(1_300);
      expect((await registry.heartbeat('refund', 'a', { epoch, ...beat })).remaining_sec).toBe(ttl_sec);
    }
    expect(live()).toHaveLength(1);
    await registry.heartbeat('refund', 'a', { epoch, status: 'busy', load: 1 });
    await eventually(() => live().length === 0, (ttl_sec + 10) * 1_000);
    expect(gone()).toMatchObject([
      { instance_id: 'a', status: 'expired', status_reason: 'its lease expired; last reported busy' },
    ]);
    expect(await refusal(registry.heartbeat('refund', 'a', { epoch, ...beat }))).toMatchObject({
      code: 'lease_expired',
    });
    // A view that starts later still knows, because one that saw it wrote it down.
    const late = new RegistryView({ ...place.options, refreshIntervalMs: 10_000 });
    place.onClose(() => late.stop());
    await late.start();
    await eventually(
      () => late.world().agents[0]?.gone?.[0]?.status_reason === 'its lease expired; last reported busy',
    );
    const again = await registry.registerInstance('refund', 'a', { version: '1.0.0', ttl_sec: 5 });
    expect(BigInt(again.epoch)).toBeGreaterThan(BigInt(epoch));
    await eventually(() => live().length === 1 && gone().length === 0);
    await eventually(() => late.world().agents[0]?.gone?.length === 0);
    expect(await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/registry/gone/`).count()).toBe(0);
  });

  it('a lease revoked by hand is expired (R02)', async () => {
    const { epoch, lease_id } = await registry.registerInstance('refund', 'a', { version: '1.0.0' });
    await eventually(() => live().length === 1);
    await place.etcd.leaseClient.leaseRevoke({ ID: lease_id });
    expect(await refusal(registry.heartbeat('refund', 'a', { epoch, ...beat }))).toMatchObject({
      code: 'lease_expired',
    });
    await eventually(() => live().length === 0);
    expect(await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/registry/beat/`).count()).toBe(0);
  });

  it('of an unknown instance say lease_expired', async () => {
    expect(await refusal(registry.heartbeat('refund', 'nobody', { epoch: '1', ...beat }))).toMatchObject({
      code: 'lease_expired',
    });
  });

  it.each([
    [{ epoch: 'abc' }, '/epoch'],
    [{ epoch: -1 }, '/epoch'],
    [{ epoch: 1.5 }, '/epoch'],
    [{ status: 'asleep' }, '/status'],
    [{ load: -0.1 }, '/load'],
    [{ load: Number.NaN }, '/load'],
    [{ in_flight: 1.5 }, '/in_flight'],
  ])('refuse %j', async (extra, pointer) => {
    const request = { epoch: '1', ...beat, ...extra } as Parameters<Registry['heartbeat']>[2];
    expect(await refusal(registry.heartbeat('refund', 'a', request))).toMatchObject({
      code: 'invalid_request',
      options: { errors: [{ pointer }] },
    });
  });
});

describe('an older registration', () => {
  it('can neither renew nor end the newer one (R01)', async () => {
    const old = await registry.registerInstance('refund', 'a', { version: '1.0.0' });
    const current = await registry.registerInstance('refund', 'a', { version: '1.0.0' });
    expect(await refusal(registry.heartbeat('refund', 'a', { epoch: old.epoch, ...beat }))).toMatchObject({
      code: 'stale_epoch',
    });
    expect(await refusal(registry.deregister('refund', 'a', old.epoch))).toMatchObject({ code: 'stale_epoch' });
    expect((await registry.heartbeat('refund', 'a', { epoch: current.epoch, ...beat })).remaining_sec).toBe(30);
  });

  it('revoking its lease late removes nothing', async () => {
    const old = await registry.registerInstance('refund', 'a', { version: '1.0.0' });
    const current = await registry.registerInstance('refund', 'a', { version: '1.0.0' });
    await place.etcd.leaseClient.leaseRevoke({ ID: old.lease_id }).catch(() => undefined);
    await sleep(100);
    expect((await registry.heartbeat('refund', 'a', { epoch: current.epoch, ...beat })).remaining_sec).toBe(30);
    await eventually(() => live().length === 1);
  });

  it('loses when registrations race: exactly one epoch stays usable', async () => {
    const all = await Promise.all(
      Array.from({ length: 8 }, () => registry.registerInstance('refund', 'a', { version: '1.0.0' })),
    );
    const newest = all.reduce((a, b) => (BigInt(a.epoch) > BigInt(b.epoch) ? a : b));
    await sleep(200);
    const answers = await Promise.allSettled(
      all.map(({ epoch }) => registry.heartbeat('refund', 'a', { epoch, ...beat })),
    );
    expect(answers.map(({ status }, n) => [all[n]!.epoch, status])).toEqual(
      all.map(({ epoch }) => [epoch, epoch === newest.epoch ? 'fulfilled' : 'rejected']),
    );
  });
});

describe('deregistering', () => {
  it('removes the instance at once and remembers it', async () => {
    const { epoch } = await registry.registerInstance('refund', 'a', { version: '1.0.0' });
    await eventually(() => live().length === 1);
    expect(await registry.deregister('refund', 'a', epoch)).toBe(true);
    expect(await registry.deregister('refund', 'a', epoch)).toBe(false);
    await eventually(() => live().length === 0);
    expect(gone()).toMatchObject([
      { instance_id: 'a', status: 'expired', status_reason: 'it deregistered; last reported ready' },
    ]);
    expect(await refusal(registry.heartbeat('refund', 'a', { epoch, ...beat }))).toMatchObject({
      code: 'lease_expired',
    });
  });

  it('deleting the agent removes its instances and leaves no key', async () => {
    const { epoch } = await registry.registerInstance('refund', 'a', { version: '1.0.0' });
    await eventually(() => live().length === 1);
    await registry.deleteAgent('refund');
    await eventually(() => view.world().agents.length === 0);
    expect(await refusal(registry.heartbeat('refund', 'a', { epoch, ...beat }))).toMatchObject({
      code: 'lease_expired',
    });
    expect(await refusal(registry.registerInstance('refund', 'a', { version: '1.0.0' }))).toMatchObject({
      code: 'agent_not_found',
    });
    await sleep(1_200);
    expect(await place.etcd.getAll().prefix(place.options.keyPrefix).keys()).toEqual([]);
  });
});
