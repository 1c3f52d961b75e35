/** The route table, claims of alerts and trials on a real etcd. */
import { RoutingTable } from '../../src/gateway/routing-table';
import { Alerts, type Alert } from '../../src/gateway/alerts';
import { newTrial } from '../../src/policy/canary';
import type { RouteEntry } from '../../src/protocol/route-table';
import {
  AlertClaims,
  Registry,
  RegistryView,
  RouteTableStore,
  RouteTableView,
  systemClock,
  TrialStore,
} from '../../src/registry';
import { absent, exists } from '../../src/registry/etcd/etcd-ops';
import { descriptorOf, eventually, openPlace, type Place } from './support';

let place: Place;
beforeEach(() => void (place = openPlace()));
afterEach(() => place.close());

const to = (target: string, weight: number, ability = 'mend'): RouteEntry => ({
  ability,
  from: 'default',
  to: target,
  weight,
});

async function followed(): Promise<RouteTableView> {
  const view = new RouteTableView({ ...place.options, refreshIntervalMs: 60_000 });
  place.onClose(() => view.stop());
  await view.start();
  return view;
}

test('who writes is followed by everybody; who writes at once is written one after the other', async () => {
  const store = new RouteTableStore(place.options);
  const view = await followed();
  expect(await store.read()).toMatchObject({ entries: [], exists: false });
  expect(view.current().etag).toBe((await store.read()).etag);
  const names = Array.from({ length: 6 }, (_, n) => `a${n}#1.0.0`);
  await Promise.all(names.map((name) => store.change(({ entries }) => [...entries, to(name, 1)])));
  const { entries, etag, exists: written } = await store.read();
  expect(written).toBe(true);
  expect(entries.map((one) => one.to).sort()).toEqual(names);
  await eventually(() => view.current().etag === etag);
  expect(view.current().listed('mend', 'default', 'a3')).toEqual([{ version: '1.0.0', weight: 1 }]);
});

test('whom a split bore most is remembered when its routes go, until it has some again', async () => {
  const store = new RouteTableStore(place.options);
  const view = await followed();
  const write = async (entries: RouteEntry[]) => {
    const { etag } = await store.change(() => entries);
    await eventually(() => view.current().etag === etag);
    return view.current().lastStable('mend', 'default', 'a');
  };
  expect(await write([to('a#1.0.0', 9), to('a#1.1.0', 1)])).toBeUndefined();
  expect(await write([to('a#1.0.0', 1), to('a#1.1.0', 9)])).toBeUndefined();
  expect(await write([to('b#1.0.0', 1)])).toBe('1.1.0');
  expect(await write([])).toBe('1.1.0');
  expect(await write([to('a#1.0.0', 1)])).toBeUndefined();
});

test('ten thousand routes fit, and come back as they were', async () => {
  const store = new RouteTableStore(place.options);
  const routes = Array.from({ length: 10_000 }, (_, n) => to(`refund_agent_${n % 50}#1.${n}.0`, n, `退款查询_${n}`));
  await store.change(() => routes);
  expect((await store.read()).entries).toEqual(routes);
});

test('the configuration seeds a table that nobody has ever written, and no other', async () => {
  const store = new RouteTableStore(place.options);
  const view = await followed();
  const table = new RoutingTable({ store, view, world: () => ({ revision: '1', agents: [], stats: null as never }) });
  expect(await table.seed([to('a#1.0.0', 1)])).toBe(true);
  expect(await table.seed([to('a#2.0.0', 1)])).toBe(false);
  await table.replace({ routes: [] }, {});
  expect(await table.seed([to('a#3.0.0', 1)])).toBe(false);
  expect((await table.read()).entries).toEqual([]);
});

test('a descriptor that is replaced stays as old as it was first', async () => {
  const registry = new Registry(place.options);
  place.onClose(() => registry.close());
  const view = new RegistryView({ ...place.options, refreshIntervalMs: 60_000, routes: await followed() });
  place.onClose(() => view.stop());
  await view.start();
  const { registeredAt } = await registry.registerDescriptor(descriptorOf());
  for (const ability of ['other', 'another'])
    await registry.registerDescriptor(descriptorOf({ capabilities: [ability] }), { replace: true });
  const [seen] = await eventually(() => {
    const { agents } = view.world();
    return agents[0]?.descriptor.capabilities[0]?.name === 'another' && agents;
  });
  expect(seen!.first_registered_at).toBe(registeredAt);
  expect(view.world().routes?.entries).toEqual([]);
});

test('of two processes that see the same one raises it; and again when the window is over', async () => {
  const sent: Alert[] = [];
  const raiser = () =>
    new Alerts({
      claims: new AlertClaims(place.options),
      channels: [{ name: 'test', send: (alert) => void sent.push(alert) }],
      logger: place.options.logger,
      clock: systemClock,
    });
  const alert = { kind: 'k', key: 'a/b', severity: 'warning', message: 'm', details: {}, windowMs: 5_000 } as const;
  const raised = await Promise.all([raiser(), raiser(), raiser()].map((one) => one.raise(alert)));
  expect(raised.filter(Boolean)).toHaveLength(1);
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({ kind: 'k', key: 'a/b', message: 'm' });
  const late = raiser();
  const claims = new AlertClaims(place.options);
  await eventually(() => claims.claim('k', 'a/b', 60_000));
  expect(await late.raise(alert)).toBe(false);
  await claims.release('k', 'a/b');
  expect(await claims.claim('k', 'a/b', 60_000)).toBe(true);
}, 60_000);

test('a channel that fails is tried again, and the others do not wait for it', async () => {
  const sent: string[] = [];
  let failures = 2;
  const alerts = new Alerts({
    claims: new AlertClaims(place.options),
    channels: [
      { name: 'bad', send: () => (failures-- > 0 ? Promise.reject(new Error('down')) : void sent.push('bad')) },
      { name: 'good', send: () => void sent.push('good') },
    ],
    logger: place.options.logger,
    clock: systemClock,
    retryDelaysMs: [1, 1],
  });
  await alerts.raise({ kind: 'k', key: 'x', severity: 'info', message: 'm', details: {} });
  await eventually(() => sent.includes('bad'));
  expect(sent).toEqual(['good', 'bad']);
});

test('a trial outlives its leader, and only the leader writes it', async () => {
  const store = new TrialStore(place.options);
  const trial = { ...newTrial({ alpha: 0.01, minRequests: 50, minErrorIncrease: 0, minLatencyRatio: 1 }), looks: 3 };
  const key = `${place.options.keyPrefix}/nothing`;
  expect(await store.save('one', trial, exists(key))).toBe(false);
  expect(await store.save('one', trial, absent(key))).toBe(true);
  expect(await store.load()).toEqual(new Map([['one', trial]]));
  await store.save('one', null, absent(key));
  expect(await store.load()).toEqual(new Map());
});
