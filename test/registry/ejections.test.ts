import { Ejections, Registry, RegistryView, systemClock, type Clock, type EjectionsOptions } from '../../src/registry';
import { Keyspace } from '../../src/registry/keys';
import { encodeRecord } from '../../src/registry/records';
import { descriptorOf, eventually, placesForEachTest, openRelay, sharedEtcdAddress, type Place } from './support';

const open = placesForEachTest();

/** A clock that the test puts forward. */
function handClock() {
  let aheadMs = 0;
  const clock: Clock = {
    monotonicMs: () => performance.now() + aheadMs,
    wall: () => new Date(new Date().getTime() + aheadMs),
  };
  return { clock, advance: (ms: number) => void (aheadMs += ms) };
}

const settings = { consecutiveFailures: 5, baseMs: 30_000, maxMs: 70_000, maxPercent: 67 };

async function start(
  place: Place,
  instances: readonly string[] | (() => readonly string[]),
  extra: Partial<EjectionsOptions> = {},
): Promise<Ejections> {
  const list = typeof instances === 'function' ? instances : () => instances;
  const ejections = new Ejections({ ...place.options, ...settings, instances: list, ...extra });
  place.onClose(() => ejections.stop());
  await ejections.start();
  return ejections;
}

const call = (ejections: Ejections, instanceId: string, failed: boolean, times = 1) => {
  for (let n = 0; n < times; n++) ejections.report({ agentName: 'refund', agentVersion: '1.0.0', instanceId, failed });
};
/** Fails until it is ejected: what etcd has confirmed may still be on its way here. */
const failUntilEjected = (ejections: Ejections, instanceId: string) =>
  eventually(() => {
    call(ejections, instanceId, true);
    return ejections.of('refund', instanceId);
  }, 10_000);
/** What is left of an ejection when it is seen is less than its length by what the news took. */
const nearestTenSec = (remainingMs: number) => Math.round(remainingMs / 10_000) * 10_000;
const out = (ejections: Ejections, ids: readonly string[]) => ids.filter((id) => ejections.of('refund', id) !== null);
const ABC = ['a', 'b', 'c'];
const KEY = (place: Place) => `${place.options.keyPrefix}/default/ejections/refund`;

describe('an instance', () => {
  it('is ejected after five failures in a row, with the reason, everywhere', async () => {
    const place = open();
    const [one, two] = [await start(place, ABC), await start(place, ABC)];
    const told: string[] = [];
    const stop = two.onChange((agentName) => told.push(agentName));
    call(one, 'a', true, 4);
    call(one, 'a', false);
    call(one, 'a', true, 4);
    expect(await place.etcd.get(KEY(place)).exists()).toBe(false);
    call(one, 'a', true);
    const ejection = await eventually(() => two.of('refund', 'a'));
    expect(ejection.reason).toMatch(/^ejected after 5 failures in a row, back at \d\d:\d\d:\d\d UTC$/);
    expect(ejection.until.getTime() - ejection.since.getTime()).toBe(30_000);
    expect(ejection.until.toISOString()).toContain(ejection.reason.slice(-12, -4));
    expect(ejection.remainingMs).toBeGreaterThan(20_000);
    expect(ejection.remainingMs).toBeLessThanOrEqual(30_000);
    expect(two.of('refund', 'a', '2.0.0')).toBeNull();
    expect(two.of('refund', 'a', '1.0.0')?.until).toEqual(ejection.until);
    expect([two.of('refund', 'b'), two.of('calm', 'a'), two.soonestReturnMs('calm')]).toEqual([null, null, null]);
    expect(two.soonestReturnMs('refund')).toBeGreaterThan(20_000);
    expect(told).toEqual(['refund']);
    stop();
  });

  it('comes back when its time is over by this process’s clock, longer each time, up to a limit', async () => {
    const place = open();
    const { clock, advance } = handClock();
    const ejections = await start(place, ABC, { clock });
    const durations: number[] = [];
    let told = 0;
    ejections.onChange(() => told++);
    for (let time = 0; time < 3; time++) {
      const { remainingMs } = await failUntilEjected(ejections, 'a');
      durations.push(nearestTenSec(remainingMs));
      // Failures of calls that were under way count for nothing.
      call(ejections, 'a', true, 50);
      advance(remainingMs + 1);
      expect(ejections.of('refund', 'a')).toBeNull();
      await eventually(() => told === 2 * time + 2);
      await eventually(async () => (await state(place)).join() === 'back');
    }
    expect(durations).toEqual([30_000, 60_000, 70_000]);
    // Three ejections in succession: a healthy minute takes two of them back.
    advance(60_001);
    expect(nearestTenSec((await failUntilEjected(ejections, 'a')).remainingMs)).toBe(60_000);
  });

  it('starts with a clean slate after it came back', async () => {
    const { clock, advance } = handClock();
    const place = open();
    const ejections = await start(place, ABC, { clock });
    call(ejections, 'a', true, 5);
    await eventually(() => ejections.of('refund', 'a'));
    advance(30_001);
    expect(ejections.soonestReturnMs('refund')).toBeNull();
    await eventually(async () => (await state(place)).join() === 'back');
    call(ejections, 'a', true, 4);
    call(ejections, 'b', true, 5);
    await eventually(() => ejections.of('refund', 'b'));
    expect(ejections.of('refund', 'a')).toBeNull();
  });
});

async function state(place: Place): Promise<string[]> {
  const text = await place.etcd.get(KEY(place)).string();
  return text === null
    ? []
    : (JSON.parse(text) as { entries: { state: string }[] }).entries.map((entry) => entry.state);
}

describe('T10: everyone failing', () => {
  it('two of three at 67 %, and the third when one of them is back', async () => {
    const place = open();
    const { clock, advance } = handClock();
    const ejections = await start(place, ABC, { clock });
    for (const id of ABC) call(ejections, id, true, 20);
    await eventually(() => out(ejections, ABC).length === 2);
    const [left] = ABC.filter((id) => ejections.of('refund', id) === null);
    for (let n = 0; n < 50; n++) call(ejections, left!, true);
    await settled(place);
    expect(out(ejections, ABC)).toHaveLength(2);
    advance(30_001);
    await eventually(async () => (await state(place)).every((one) => one === 'back'));
    await failUntilEjected(ejections, left!);
  });

  it.each([
    [['sole'], 50, 0],
    [['sole'], 100, 1],
    [ABC, 100, 3],
    [ABC, 0, 0],
    [ABC, 33, 0],
    [ABC, 34, 1],
  ])('of %j at %i %% at most %i', async (ids, maxPercent, expected) => {
    const place = open();
    const ejections = await start(place, ids, { maxPercent });
    for (let n = 0; n < 20; n++) for (const id of ids) call(ejections, id, true);
    if (expected > 0) await eventually(() => out(ejections, ids).length === expected);
    for (let n = 0; n < 20; n++) for (const id of ids) call(ejections, id, true);
    await settled(place);
    expect(out(ejections, ids)).toHaveLength(expected);
  });

  it('holds over processes that eject different instances at the same moment', async () => {
    const place = open();
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const all = await Promise.all([1, 2, 3].map(() => start(place, ids, { maxPercent: 50 })));
    ids.forEach((id, n) => call(all[n % 3]!, id, true, 5));
    await eventually(() => all.every((ejections) => out(ejections, ids).length === 3));
    all.forEach((ejections) => ids.forEach((id) => call(ejections, id, true, 10)));
    await settled(place);
    const sets = all.map((ejections) => out(ejections, ids).join());
    expect(new Set(sets).size).toBe(1);
    expect(sets[0]!.split(',')).toHaveLength(3);
    expect((await state(place)).filter((one) => one === 'out')).toHaveLength(3);
  });

  it('an ejection that becomes known while another is being written is not overwritten', async () => {
    const place = open();
    const other = open();
    other.options.keyPrefix = place.options.keyPrefix;
    const [one, two] = [await start(place, ABC), await start(other, ABC)];
    const { leaseClient } = place.etcd;
    const grant = leaseClient.leaseGrant.bind(leaseClient);
    jest.spyOn(leaseClient, 'leaseGrant').mockImplementationOnce(async (...request) => {
      call(two, 'b', true, 5);
      await eventually(() => one.of('refund', 'b'));
      return grant(...request);
    });
    call(one, 'a', true, 5);
    await eventually(() => out(two, ABC).join() === 'a,b');
    expect(await state(place)).toEqual(['out', 'out']);
  });

  it('the share is that of the version: another version’s instances neither help nor suffer', async () => {
    const place = open();
    const ejections = await start(place, ['static-0', 'static-1']);
    call(ejections, 'static-0', true, 5);
    await eventually(() => ejections.of('refund', 'static-0', '1.0.0'));
    expect(ejections.of('refund', 'static-0', '2.0.0')).toBeNull();
    for (let n = 0; n < 5; n++)
      ejections.report({ agentName: 'refund', agentVersion: '2.0.0', instanceId: 'static-0', failed: true });
    await eventually(() => ejections.of('refund', 'static-0', '2.0.0'));
  });

  it('when instances go, so many of the rest come back that the share holds', async () => {
    const place = open();
    let ids: string[] = ABC;
    const ejections = await start(place, () => ids);
    for (const id of ['a', 'b']) call(ejections, id, true, 5);
    await eventually(() => out(ejections, ABC).length === 2);
    ids = ['a', 'b'];
    await eventually(() => out(ejections, ABC).length === 1);
    ids = ['b'];
    await eventually(() => out(ejections, ['b']).length === 0);
  });
});

/** Everything written so far has been seen by all: the prefix stays as it is for a while. */
async function settled(place: Place): Promise<void> {
  let before = await place.etcd.get(KEY(place)).string();
  for (let calm = 0; calm < 4; calm++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const now = await place.etcd.get(KEY(place)).string();
    if (now !== before) calm = -1;
    before = now;
  }
}

it('a process that starts later learns who is out, and healthy traffic writes nothing', async () => {
  const place = open();
  const one = await start(place, ABC);
  const txn = jest.spyOn(place.etcd.kv, 'txn');
  for (let n = 0; n < 5_000; n++) call(one, ABC[n % 3]!, n % 7 === 0);
  expect(txn).not.toHaveBeenCalled();
  call(one, 'a', true, 5);
  await eventually(() => one.of('refund', 'a'));
  const late = await start(place, ABC);
  expect(late.of('refund', 'a')!.remainingMs).toBeGreaterThan(20_000);
  const { kvs } = await place.etcd.getAll().prefix(KEY(place)).exec();
  const lease = await place.etcd.leaseClient.leaseTimeToLive({ ID: kvs[0]!.lease });
  // Out for 30 s, remembered for 30 more.
  expect(Number(lease.grantedTTL)).toBeGreaterThan(60);
  expect(Number(lease.grantedTTL)).toBeLessThan(70);
});

it('skips a record it cannot read, and writes over it', async () => {
  const place = open();
  await place.etcd.put(KEY(place)).value('{"v":1,"entries":[{}]}');
  const ejections = await start(place, ABC);
  expect(ejections.of('refund', 'a')).toBeNull();
  call(ejections, 'a', true, 5);
  await eventually(() => ejections.of('refund', 'a'));
});

it('while etcd is away those who are out come back, and whoever fails is ejected when it is there again', async () => {
  const relay = await openRelay(sharedEtcdAddress());
  const place = open(relay.address);
  place.onClose(() => relay.close());
  const { clock, advance } = handClock();
  const ejections = await start(place, ABC, { clock });
  call(ejections, 'a', true, 5);
  await eventually(() => ejections.of('refund', 'a'));
  relay.cut();
  let told = 0;
  ejections.onChange(() => told++);
  advance(30_001);
  expect(ejections.of('refund', 'a')).toBeNull();
  await eventually(() => told === 1);
  call(ejections, 'b', true, 5);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(ejections.of('refund', 'b')).toBeNull();
  relay.mend();
  await eventually(() => {
    call(ejections, 'b', true);
    return ejections.of('refund', 'b');
  }, 10_000);
});

describe('in the view', () => {
  it('an ejected instance is unavailable until it is back, and says so', async () => {
    const place = open();
    const { clock, advance } = handClock();
    const registry = new Registry(place.options);
    place.onClose(() => registry.close());
    const address = ['http://a.example/', 'http://b.example/'];
    for (const version of ['1.0.0', '2.0.0'])
      await registry.registerDescriptor(descriptorOf({ version, endpoint: { protocol: 'http', address } }));
    const ejections: Ejections = await start(
      place,
      () =>
        view
          .world()
          .agents.find(({ version }) => version === '1.0.0')!
          .instances.map((one) => one.instance_id),
      { clock, maxPercent: 50 },
    );
    const view: RegistryView = new RegistryView({ ...place.options, refreshIntervalMs: 60_000, ejections, clock });
    place.onClose(() => view.stop());
    await view.start();
    const [first, second] = view.world().agents;
    for (const id of ['static-0', 'static-1']) call(ejections, id, true, 5);
    const ejected = await eventually(() => view.world().agents[0]!.instances.find((one) => one.ejected_until));
    expect(ejected).toMatchObject({
      status: 'unavailable',
      status_reason: expect.stringMatching(/^ejected after 5 failures in a row, back at \d\d:\d\d:\d\d UTC$/),
      health: 'unknown',
    });
    expect(Date.parse(ejected.ejected_until!) - Date.parse(ejected.since)).toBe(30_000);
    expect(view.agent('refund')[0]!.instances.filter((one) => one.ejected_until)).toHaveLength(1);
    // The other version's static instance has the same id and another address.
    expect(view.world().agents[1]).toBe(second);
    advance(30_001);
    await eventually(() => view.world().agents[0]!.instances.every((one) => one.status === 'ready'));
    expect(view.world().agents[0]).toEqual(first);
  });

  it('an instance that fails its health check meanwhile is no longer ejected when its time is over', async () => {
    const place = open();
    const { clock, advance } = handClock();
    const registry = new Registry(place.options);
    place.onClose(() => registry.close());
    await registry.registerDescriptor(descriptorOf({ endpoint: { protocol: 'http', address: 'http://a.example/' } }));
    const ejections = await start(place, ['static-0'], { clock, maxPercent: 100 });
    const view = new RegistryView({ ...place.options, refreshIntervalMs: 60_000, ejections, clock });
    place.onClose(() => view.stop());
    await view.start();
    const one = () => view.world().agents[0]!.instances[0]!;
    call(ejections, 'static-0', true, 5);
    await eventually(() => one().ejected_until);
    const key = new Keyspace(place.options.keyPrefix, 'default').record('health', 'refund', 'static-0@1.0.0');
    const health = { state: 'failing', since: '2026-01-01T00:00:00Z', reason: 'down', target: 'http://a.example/' };
    await place.etcd.put(key).value(encodeRecord(health));
    await eventually(() => one().status_reason === 'health check failing: down');
    expect(one().ejected_until).toBeDefined();
    advance(30_001);
    await eventually(() => one().ejected_until === undefined);
    expect(one().status_reason).toBe('health check failing: down');
  });

  it('started after the ejection began, knows of it at once', async () => {
    const place = open();
    const registry = new Registry(place.options);
    place.onClose(() => registry.close());
    await registry.registerDescriptor(descriptorOf());
    for (const id of ABC) await registry.registerInstance('refund', id, { version: '1.0.0' });
    const ejections = await start(place, ABC);
    call(ejections, 'b', true, 5);
    await eventually(() => ejections.of('refund', 'b'));
    const view = new RegistryView({ ...place.options, refreshIntervalMs: 60_000, ejections });
    place.onClose(() => view.stop());
    await view.start();
    expect(view.world().agents[0]!.instances.map((one) => one.status)).toEqual(['ready', 'unavailable', 'ready']);
  });
});

describe('degraded mode (R24)', () => {
  it('is part of the world, begins and ends with the healthy share, and is logged', async () => {
    const place = open();
    const registry = new Registry(place.options);
    place.onClose(() => registry.close());
    const names = ['a1', 'a2', 'a3', 'a4', 'a5'];
    for (const name of names) await registry.registerDescriptor(descriptorOf({ name }));
    await registry.registerDescriptor(descriptorOf({ name: 'a1', version: '2.0.0' }));
    const gate = { gate: () => ({ share: 1, mark: null, detail: '', retryAfterMs: 0 }) };
    const view = new RegistryView({
      ...place.options,
      refreshIntervalMs: 60_000,
      healthThreshold: 0.3,
      breakers: gate,
      // As if they had been registered a while ago: who has only just come says nothing yet.
      clock: { ...systemClock, wall: () => new Date(Date.now() + 60_000) },
    });
    place.onClose(() => view.stop());
    await view.start();
    expect(view.world().degraded).toEqual({ healthyShare: 0, threshold: 0.3, since: expect.stringMatching(/Z$/) });
    expect(view.world().breakers).toBe(gate);
    const logged = () => place.options.logger.lines.filter(({ message }) => message.startsWith('degraded mode'));
    expect(logged()).toHaveLength(1);
    const { since } = view.world().degraded!;
    let told = 0;
    view.onChange(() => told++);
    await registry.registerInstance('a1', 'pod', { version: '1.0.0' });
    await eventually(() => view.world().degraded?.healthyShare === 0.2);
    expect([view.world().degraded!.since, logged().length, told]).toEqual([since, 1, 1]);
    const { epoch } = await registry.registerInstance('a2', 'pod', { version: '1.0.0' });
    await eventually(() => view.world().degraded === null);
    expect(logged().map(({ details }) => details)).toEqual([
      { healthy: 0, total: 5, threshold: 0.3 },
      { healthy: 2, total: 5 },
    ]);
    // Busy is healthy; draining is not.
    await registry.heartbeat('a2', 'pod', { epoch, status: 'busy', load: 1 });
    await eventually(() => view.world().agents.some(({ instances }) => instances[0]?.status === 'busy'));
    expect(view.world().degraded).toBeNull();
    await registry.heartbeat('a2', 'pod', { epoch, status: 'draining', load: 1 });
    await eventually(() => view.world().degraded?.healthyShare === 0.2);
  });

  it('is absent where no threshold is given', async () => {
    const place = open();
    const view = new RegistryView({ ...place.options, refreshIntervalMs: 60_000 });
    place.onClose(() => view.stop());
    await view.start();
    expect(Object.keys(view.world()).sort()).toEqual(['agents', 'revision', 'stats']);
  });
});
