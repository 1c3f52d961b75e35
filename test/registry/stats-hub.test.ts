import { RegistryView, StatsHub, type Clock, type SampleKey, type SampleOutcome } from '../../src/registry';
import { eventually, openPlace, type Place } from './support';

let place: Place;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

async function startHub(clock?: Clock): Promise<StatsHub> {
  const hub = new StatsHub({ ...place.options, publishIntervalMs: 50, ...(clock && { clock }) });
  place.onClose(() => hub.stop());
  await hub.start();
  return hub;
}

const key: SampleKey = { agentName: 'refund', agentVersion: '1.0.0', ability: 'refund_order', instanceId: 'pod-1' };
const record = (hub: StatsHub, times: number, durationMs: number, outcome: SampleOutcome = 'ok') => {
  for (let n = 0; n < times; n++) hub.record({ ...key, durationMs, outcome });
};
const ability = (hub: StatsHub) => hub.lookup().ability('refund', '1.0.0', 'refund_order');
const instance = (hub: StatsHub) => hub.lookup().instance('refund', 'pod-1');
/** All but what grows less by the second. */
const lasting = (stats: ReturnType<typeof ability>) => ({ ...stats, evidence: undefined });

it('shows own samples at once, by ability and by instance', async () => {
  const hub = await startHub();
  expect(ability(hub)).toBeNull();
  record(hub, 90, 100);
  record(hub, 10, 1_000);
  record(hub, 25, 5, 'failure');
  record(hub, 500, 1, 'neutral');
  expect(ability(hub)).toMatchObject({ requests: 125, failures: 25, in_flight: 0 });
  const { p50_ms, p95_ms, p99_ms } = ability(hub)!;
  expect(p50_ms! / 100).toBeCloseTo(1, 1);
  expect(p95_ms! / 1_000).toBeCloseTo(1, 1);
  expect(p99_ms).toBe(p95_ms);
  expect(lasting(instance(hub))).toEqual(lasting(ability(hub)));
  expect(hub.lookup().ability('refund', '2.0.0', 'refund_order')).toBeNull();
  expect(hub.lookup().instance('refund', 'constructor')).toBeNull();
});

it('two processes see the same, and less when one leaves', async () => {
  const [one, two] = [await startHub(), await startHub()];
  record(one, 300, 100);
  record(two, 100, 10_000);
  record(two, 100, 50, 'failure');
  const end = two.started(key);
  await eventually(() => ability(one)?.requests === 500 && ability(one)?.in_flight === 1);
  await eventually(() => ability(two)?.requests === 500);
  expect(ability(one)).toMatchObject({ requests: 500, failures: 100, in_flight: 1 });
  expect(ability(one)!.p95_ms! / 10_000).toBeCloseTo(1, 1);
  expect(lasting(instance(two))).toEqual(lasting(ability(one)));
  const weighed = ability(one)!.evidence!;
  expect(weighed.requests / 500).toBeCloseTo(1, 0);
  expect(weighed.failures / weighed.requests).toBeCloseTo(0.2, 3);
  end();
  end();
  await eventually(() => ability(one)?.in_flight === 0);
  await two.stop();
  await eventually(() => ability(one)?.requests === 300);
  expect(ability(one)).toMatchObject({ failures: 0 });
});

it('the failure rate is that of the last 1000 requests of all', async () => {
  const [one, two] = [await startHub(), await startHub()];
  record(one, 700, 10, 'failure');
  record(two, 400, 10);
  record(one, 1_000, 10);
  expect(ability(one)).toMatchObject({ requests: 1_000, failures: 0 });
  await eventually(() => ability(two)?.requests === 1_000);
  expect(ability(two)!.failures).toBe(0);
});

it('a late process learns what was measured before it started, also of agents with odd names', async () => {
  const one = await startHub();
  one.record({ ...key, ability: '退款/查询 ', instanceId: 'a/b', durationMs: 7, outcome: 'ok' });
  const late = await startHub();
  await eventually(() => late.lookup().ability('refund', '1.0.0', '退款/查询 ')?.requests === 1);
  expect(late.lookup().instance('refund', 'a/b')).toMatchObject({ requests: 1 });
});

it('forgets latencies after five minutes, here and elsewhere, and keeps outcomes', async () => {
  let nowMs = 0;
  const clock: Clock = { monotonicMs: () => nowMs + performance.now(), wall: () => new Date() };
  const [one, two] = [await startHub(clock), await startHub()];
  record(one, 10, 100);
  await eventually(() => ability(two)?.p50_ms !== undefined && ability(two)?.p50_ms !== null);
  nowMs = 301_000;
  await eventually(() => ability(two)?.p50_ms === null);
  expect(ability(one)).toMatchObject({ requests: 10, p50_ms: null });
  expect(ability(two)).toMatchObject({ requests: 10, failures: 0 });
});

it('publishes again after its lease was lost', async () => {
  const [one, two] = [await startHub(), await startHub()];
  record(one, 3, 10);
  await eventually(() => ability(two)?.requests === 3);
  const [kv] = (await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/stats/`).exec()).kvs;
  await place.etcd.leaseClient.leaseRevoke({ ID: kv!.lease });
  await eventually(() => ability(two) === null);
  one.record({ ...key, agentName: 'other', durationMs: 10, outcome: 'ok' });
  await eventually(() => ability(two)?.requests === 3);
});

it('publishes more than etcd takes in one request, also again after its lease was lost', async () => {
  const [one, two] = [await startHub(), await startHub()];
  const names = Array.from({ length: 40 }, (_, n) => `agent-${n}`);
  // Durations from 1 ms to a minute, each in a bucket of its own.
  const durationsMs = Array.from({ length: 250 }, (_, n) => 1.041 ** n);
  for (const agentName of names)
    for (let pod = 0; pod < 20; pod++)
      for (const durationMs of durationsMs)
        one.record({ ...key, agentName, instanceId: `pod-${pod}`, durationMs, outcome: 'ok' });
  const digests = async () =>
    (await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/stats/`).exec()).kvs;
  const all = await eventually(async () => {
    const kvs = await digests();
    return kvs.length === names.length && kvs;
  });
  expect(all.reduce((sum, kv) => sum + kv.value.length, 0)).toBeGreaterThan(1.5 * 1_024 * 1_024);
  const seen = () => names.filter((name) => two.lookup().instance(name, 'pod-19')?.requests === durationsMs.length);
  await eventually(() => seen().length === names.length);
  await place.etcd.leaseClient.leaseRevoke({ ID: all[0]!.lease });
  await eventually(() => seen().length === 0);
  one.record({ ...key, durationMs: 10, outcome: 'ok' });
  await eventually(() => seen().length === names.length);
  const again = await digests();
  expect(again).toHaveLength(names.length + 1);
  expect(new Set(again.map((kv) => kv.lease)).size).toBe(1);
});

it('keeps nothing of instances that are gone, here or elsewhere', async () => {
  let aheadMs = 0;
  const clock: Clock = { monotonicMs: () => aheadMs + performance.now(), wall: () => new Date() };
  const [one, two] = [await startHub(clock), await startHub()];
  const pods = Array.from({ length: 50 }, (_, n) => `pod-${n}`);
  for (const instanceId of pods) one.record({ ...key, instanceId, durationMs: 10, outcome: 'ok' });
  const seenBy = (hub: StatsHub) => pods.filter((pod) => hub.lookup().instance('refund', pod) !== null).length;
  const keptBy = (hub: StatsHub) => (Reflect.get(hub, 'merged') as Map<string, unknown>).size;
  await eventually(() => seenBy(one) === 50 && seenBy(two) === 50);
  expect([keptBy(one), keptBy(two)]).toEqual([50, 50]);
  aheadMs = 3_700_000;
  await eventually(() => keptBy(one) === 0 && keptBy(two) === 0);
  one.record({ ...key, instanceId: 'pod-7', durationMs: 10, outcome: 'ok' });
  await eventually(() => seenBy(two) === 1);
  expect(seenBy(one)).toBe(1);
});

it('writes nothing while nothing changes', async () => {
  const one = await startHub();
  record(one, 5, 10);
  const revisions = async () =>
    (await place.etcd.getAll().prefix(place.options.keyPrefix).exec()).kvs.map((kv) => kv.mod_revision);
  await eventually(async () => (await revisions()).length === 1);
  const before = await revisions();
  const view = new RegistryView({ ...place.options, refreshIntervalMs: 60_000, stats: one.lookup() });
  place.onClose(() => view.stop());
  await view.start();
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(await revisions()).toEqual(before);
  expect(view.world().stats.instance('refund', 'pod-1')).toMatchObject({ requests: 5 });
});

it('skips a digest it cannot read', async () => {
  await place.etcd
    .put(`${place.options.keyPrefix}/default/stats/p1/refund`)
    .value('{"v":1,"series":[{"latency":"x"}]}');
  const one = await startHub();
  record(one, 1, 10);
  expect(ability(one)).toMatchObject({ requests: 1 });
  expect(place.options.logger.lines).toEqual([
    expect.objectContaining({ message: expect.stringContaining('unreadable') }),
  ]);
});
