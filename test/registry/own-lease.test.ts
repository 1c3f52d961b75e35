/** One write in several transactions, against a real etcd. */
import type { IRequestOp } from 'etcd3';
import { absent, deleteOp, putOp } from '../../src/registry/etcd/etcd-ops';
import { LeaseKeeper } from '../../src/registry/etcd/lease-keeper';
import { OwnLease } from '../../src/registry/etcd/own-lease';
import { placesForEachTest, type Place } from './support';

const open = placesForEachTest();

function leaseOf(place: Place): OwnLease {
  const { etcd, logger } = place.options;
  const keeper = new LeaseKeeper(etcd);
  const lease = new OwnLease({ etcd, keeper, logger, ttlSec: 15, monotonicMs: () => performance.now() });
  place.onClose(() => {
    lease.release();
    keeper.close();
  });
  return lease;
}

const keyOf = ({ options }: Place, n: number) => `${options.keyPrefix}/own/${String(n).padStart(3, '0')}`;
const putsOf = (place: Place, id: string, [count, kib]: [count: number, kib: number]) =>
  Array.from({ length: count }, (_, n) => putOp(keyOf(place, n), String(n % 10).repeat(kib * 1_024), id));
const keysOf = (operations: IRequestOp[]) => operations.map(({ request_put: put }) => String(put?.key));
const stored = async (place: Place) => (await place.etcd.getAll().prefix(`${place.options.keyPrefix}/own/`).exec()).kvs;

/** Told the keys that were not written. */
function unwrittenOf(lease: OwnLease) {
  const unwritten: string[] = [];
  const write = (operations: IRequestOp[], fence?: Parameters<OwnLease['write']>[1]) =>
    lease.write(operations, fence, (these) => unwritten.push(...keysOf(these)));
  return { unwritten, write };
}

it('writes more than etcd takes at once, all under the lease, with no transaction over 512 KiB', async () => {
  const place = open();
  const lease = leaseOf(place);
  const txn = jest.spyOn(place.etcd.kv, 'txn');
  const { id } = await lease.ensure();
  const { unwritten, write } = unwrittenOf(lease);
  expect(await write(putsOf(place, id, [90, 25]))).toBe(true);
  expect(unwritten).toEqual([]);
  const kvs = await stored(place);
  expect(kvs.map((kv) => kv.key.toString())).toEqual(Array.from({ length: 90 }, (_, n) => keyOf(place, n)));
  expect(new Set(kvs.map((kv) => kv.lease))).toEqual(new Set([id]));
  const sizes = txn.mock.calls.map(([{ success }]) =>
    (success ?? []).reduce((sum, { request_put: put }) => sum + (put?.value?.length ?? 0), 0),
  );
  expect(Math.max(...sizes)).toBeLessThanOrEqual(512 * 1_024);
  expect(sizes).toHaveLength(5);
});

it('keeps the order of operations, over transactions as well', async () => {
  const place = open();
  const lease = leaseOf(place);
  const { id } = await lease.ensure();
  const key = keyOf(place, 0);
  const fill = putsOf(place, id, [30, 25]).slice(1);
  await lease.write([putOp(key, 'old', id), ...fill, deleteOp(key), ...fill, putOp(key, 'new', id)]);
  expect((await stored(place))[0]!.value.toString()).toBe('new');
});

it('what is too large by itself keeps nothing else from being written', async () => {
  const place = open();
  const lease = leaseOf(place);
  const { id } = await lease.ensure();
  const puts = putsOf(place, id, [40, 20]);
  for (const [at, kib] of [
    [7, 1_700],
    [21, 3_000],
  ] as const)
    puts[at] = putOp(keyOf(place, at), 'x'.repeat(kib * 1_024), id);
  const { unwritten, write } = unwrittenOf(lease);
  await expect(write(puts)).rejects.toThrow(/too large|larger than max/);
  expect(unwritten).toEqual([keyOf(place, 7), keyOf(place, 21)]);
  expect(await stored(place)).toHaveLength(38);
  expect(await lease.ensure()).toEqual({ id, isNew: false });
});

it('every transaction holds only while the fence does; the rest is told', async () => {
  const place = open();
  const lease = leaseOf(place);
  const { id } = await lease.ensure();
  const puts = putsOf(place, id, [60, 25]);
  // The 25th key is in the second transaction: the third finds that it exists.
  const { unwritten, write } = unwrittenOf(lease);
  expect(await write(puts, absent(keyOf(place, 25)))).toBe(false);
  expect(await stored(place)).toHaveLength(40);
  expect(unwritten).toEqual(keysOf(puts.slice(40)));
});

it('a lease that is lost on the way: the rest is told, and the next lease is another', async () => {
  const place = open();
  const lease = leaseOf(place);
  const { id } = await lease.ensure();
  const puts = putsOf(place, id, [60, 25]);
  const { kv, leaseClient } = place.etcd;
  const txn = kv.txn.bind(kv);
  let calls = 0;
  jest.spyOn(kv, 'txn').mockImplementation(async (request) => {
    if (++calls === 2) await leaseClient.leaseRevoke({ ID: id });
    return txn(request);
  });
  const { unwritten, write } = unwrittenOf(lease);
  await expect(write(puts)).rejects.toThrow(/lease not found/);
  expect(unwritten).toEqual(keysOf(puts.slice(20)));
  expect(calls).toBe(2);
  const next = await lease.ensure();
  expect(next.isNew).toBe(true);
  expect(next.id).not.toBe(id);
});
