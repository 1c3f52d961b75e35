import type { Etcd3, ITxnRequest } from 'etcd3';
import { Registry } from '../../../src/registry';
import { descriptorOf, openPlace, refusal, type Place } from '../support';

const beat = { status: 'ready', load: 0 } as const;
const version = '1.0.0';
let place: Place;
let registry: Registry;

beforeEach(async () => {
  place = openPlace();
  registry = newRegistry(place);
  await registry.registerDescriptor(descriptorOf());
});
afterEach(() => place.close());

function newRegistry(from: Place): Registry {
  const made = new Registry(from.options, { minTtlSec: 1 });
  from.onClose(() => made.close());
  return made;
}

/** A second gateway whose writes to the registry's keys wait until they are let go. */
async function openHeldBack(): Promise<{ registry: Registry; held: Promise<void>; letGo(): void; etcd: Etcd3 }> {
  const other = openPlace();
  place.onClose(() => other.close());
  other.options.keyPrefix = place.options.keyPrefix;
  const { kv } = other.etcd;
  const send = kv.txn.bind(kv);
  let letGo!: () => void;
  const gate = new Promise<void>((open) => (letGo = open));
  let reached!: () => void;
  const held = new Promise<void>((mark) => (reached = mark));
  jest.spyOn(kv, 'txn').mockImplementation(async (request: ITxnRequest) => {
    const writes = request.success?.some((op) => op.request_put ?? op.request_delete_range) ?? false;
    if (writes) {
      reached();
      await gate;
    }
    return send(request);
  });
  return { registry: newRegistry(other), held, letGo, etcd: other.etcd };
}

async function stored(id: string): Promise<{ epoch: string; lease: string } | null> {
  const key = `${place.options.keyPrefix}/default/registry/instance/refund/${id}`;
  const { kvs } = await place.etcd.kv.range({ key: Buffer.from(key) });
  return kvs[0] === undefined ? null : { epoch: kvs[0].mod_revision, lease: kvs[0].lease };
}

it('a delete of an older registration that arrives late removes nothing of the newer one (R01)', async () => {
  const slow = await openHeldBack();
  const first = await registry.registerInstance('refund', 'pod', { version });
  const leaving = slow.registry.deregister('refund', 'pod', first.epoch);
  await slow.held;
  const second = await registry.registerInstance('refund', 'pod', { version });
  slow.letGo();
  expect(await refusal(leaving)).toMatchObject({ code: 'stale_epoch' });
  expect(await stored('pod')).toEqual({ epoch: second.epoch, lease: second.lease_id });
  expect(await registry.heartbeat('refund', 'pod', { epoch: second.epoch, ...beat })).toEqual({ remaining_sec: 30 });
  expect(await refusal(registry.heartbeat('refund', 'pod', { epoch: first.epoch, ...beat }))).toMatchObject({
    code: 'stale_epoch',
  });
  expect(await refusal(registry.deregister('refund', 'pod', first.epoch))).toMatchObject({ code: 'stale_epoch' });
});

it('the same id gone and back in between (ABA) is another registration (R01)', async () => {
  const slow = await openHeldBack();
  const first = await registry.registerInstance('refund', 'pod', { version });
  const late = slow.registry.deregister('refund', 'pod', first.epoch);
  await slow.held;
  await registry.deregister('refund', 'pod', first.epoch);
  const second = await registry.registerInstance('refund', 'pod', { version });
  slow.letGo();
  expect(await refusal(late)).toMatchObject({ code: 'stale_epoch' });
  expect((await stored('pod'))?.epoch).toBe(second.epoch);
});

it('a heartbeat of an older registration that arrives late changes and renews nothing', async () => {
  const slow = await openHeldBack();
  const first = await registry.registerInstance('refund', 'pod', { version });
  const late = slow.registry.heartbeat('refund', 'pod', { epoch: first.epoch, status: 'draining', load: 1 });
  await slow.held;
  await registry.registerInstance('refund', 'pod', { version });
  slow.letGo();
  expect(await refusal(late)).toMatchObject({ code: 'stale_epoch' });
  const key = Buffer.from(`${place.options.keyPrefix}/default/registry/beat/refund/pod`);
  const { kvs } = await place.etcd.kv.range({ key });
  expect(JSON.parse(kvs[0]!.value.toString())).toMatchObject({ status: 'ready' });
});

it('the lease of an older registration, revoked late, takes nothing along', async () => {
  const first = await registry.registerInstance('refund', 'pod', { version });
  const second = await registry.registerInstance('refund', 'pod', { version });
  await place.etcd.leaseClient.leaseRevoke({ ID: first.lease_id }).catch(() => undefined);
  expect((await stored('pod'))?.epoch).toBe(second.epoch);
});

it('a registration held up for long never overwrites the one that followed it', async () => {
  let aheadMs = 0;
  const clock = { monotonicMs: () => performance.now() + aheadMs, wall: () => new Date() };
  const other = await openHeldBack();
  const paused = new Registry({ ...place.options, etcd: other.etcd, clock }, { minTtlSec: 1 });
  place.onClose(() => paused.close());
  const late = paused.registerInstance('refund', 'pod', { version });
  await other.held;
  const { epoch } = await registry.registerInstance('refund', 'pod', { version });
  aheadMs = 60_000;
  other.letGo();
  expect(await refusal(late)).toMatchObject({ code: 'engine_unavailable' });
  expect((await stored('pod'))?.epoch).toBe(epoch);
});

it('registrations at the same time all succeed, each under an epoch of its own; the greatest stands', async () => {
  const others = Array.from({ length: 2 }, () => {
    const other = openPlace();
    place.onClose(() => other.close());
    other.options.keyPrefix = place.options.keyPrefix;
    return newRegistry(other);
  });
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      [registry, ...others][n % 3]!.registerInstance('refund', 'pod', { version, ttl_sec: 30 }),
    ),
  );
  const epochs = made.map(({ epoch }) => BigInt(epoch));
  expect(new Set(epochs).size).toBe(20);
  const last = epochs.reduce((a, b) => (a > b ? a : b));
  expect((await stored('pod'))?.epoch).toBe(String(last));
});
