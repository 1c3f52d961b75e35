import { randomUUID } from 'node:crypto';
import { createEtcd } from '../../src/registry';
import { startPrivateEtcd, type PrivateEtcd } from '../registry/outages/support';
import { refusal } from '../registry/support';
import { append, openContexts, set, type ContextPlace } from './support';

let etcd: PrivateEtcd;
let place: ContextPlace;

beforeAll(async () => {
  etcd = await startPrivateEtcd({ quotaBackendBytes: 4 * 1_048_576 });
  place = openContexts(etcd.address);
});
afterAll(async () => {
  await place?.close();
  await etcd?.stop();
});

const by = 'tester';
const context = () => `c-${randomUUID()}`;

it('without etcd: reads say so, and writes say that they may have happened', async () => {
  const contextId = context();
  const client = createEtcd({ hosts: etcd.address, callTimeoutMs: 1_500 });
  place.onClose(() => client.close());
  const store = place.another({ etcd: client });
  await store.patch({ contextId, operations: [set('a', 1, 0)], by });
  etcd.freeze();
  try {
    const read = await refusal(store.get(contextId));
    expect(read).toMatchObject({ code: 'engine_unavailable', options: { retryAfterMs: 1_000 } });
    const write = await refusal(store.patch({ contextId, operations: [append('log', 1)], by }));
    expect(write).toMatchObject({
      code: 'engine_unavailable',
      message: expect.stringMatching(/may have happened: read the context again/),
    });
    expect((await refusal(store.delete(contextId))).code).toBe('engine_unavailable');
  } finally {
    etcd.thaw();
  }
});

it('a lease that etcd has lost is granted again, and the write is made', async () => {
  const contextId = context();
  await place.store.patch({ contextId, operations: [set('a', 1, 0)], by });
  const { leases } = await place.etcd.leaseClient.leaseLeases();
  for (const { ID } of leases) await place.etcd.leaseClient.leaseRevoke({ ID });
  expect((await refusal(place.store.get(contextId))).code).toBe('not_found');
  await place.store.patch({ contextId, operations: [set('a', 2, 0)], by });
  expect((await place.store.get(contextId)).fields.a!.value).toBe(2);
});

it('out of space: writes are refused as storage_full, reads and deletions go on', async () => {
  const contextId = context();
  await place.store.patch({ contextId, operations: [set('a', 1, 0)], by });
  const megabyte = Buffer.alloc(1_000_000, 'x');
  await expect(
    (async () => {
      for (;;) await place.etcd.put('/junk').value(megabyte);
    })(),
  ).rejects.toThrow(/space exceeded/);
  for (const id of [contextId, context()]) {
    const full = await refusal(place.store.patch({ contextId: id, operations: [set('a', 2), append('log', 1)], by }));
    expect(full).toMatchObject({
      code: 'storage_full',
      message: expect.stringMatching(/nothing was written; compact/),
    });
    expect(full.toProblem()).toMatchObject({ status: 507, retryable: true });
  }
  expect((await place.store.get(contextId)).fields.a!.value).toBe(1);
  expect((await place.store.get(contextId, ['a'])).fields.a!.value).toBe(1);
  expect(await place.store.delete(contextId)).toBe(true);
  expect((await refusal(place.store.get(contextId))).code).toBe('not_found');
});
