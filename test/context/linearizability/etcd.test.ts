/** Recorded histories of twenty clients on real etcd, with and without faults, and with planted bugs (I3). */
import { setTimeout as sleep } from 'node:timers/promises';
import { ContextStore } from '../../../src/context';
import { createEtcd } from '../../../src/registry';
import { Random } from '../../chaos/harness/random';
import { startPrivateEtcd, type PrivateEtcd } from '../../registry/outages/support';
import { checkLinearizable } from './checker';
import { Recorder, type Operation, type Subject } from './history';
import {
  appendByOverwriting,
  dropTheCompare,
  foldBlindly,
  ignoreVersionsInBatches,
  readStale,
  restartVersions,
  tampered,
} from './planted-bugs';
import { runWorkload, type Workload } from './workload';

const CLIENTS = 20;
let etcd: PrivateEtcd;
const closers: (() => Promise<void> | void)[] = [];
let serial = 0;

beforeAll(async () => {
  etcd = await startPrivateEtcd();
});
afterAll(async () => {
  for (const close of closers) await close();
  await etcd?.stop();
});

/** As gateways have them: each with a client of its own to the same keys. */
function openStore({ tamper, callTimeoutMs }: Omit<Planted, 'wrap'>): Subject {
  const client = createEtcd({ hosts: etcd.address, callTimeoutMs });
  const store = new ContextStore({
    etcd: tamper ? tampered(client, tamper) : client,
    keyPrefix: '/linearizability',
    tenant: 'default',
    ttlMs: 3_600_000,
    // Lists stay short here; they are folded under everything else all the same.
    foldAt: 2,
    logger: { debug: () => undefined },
  });
  closers.push(async () => {
    await store.close();
    client.close();
  });
  return {
    get: (contextId) => store.get(contextId),
    patch: (contextId, operations) => store.patch({ contextId, operations, by: 'client' }),
    delete: (contextId) => store.delete(contextId),
  };
}

interface Planted {
  wrap?: (subject: Subject) => Subject;
  tamper?: Parameters<typeof tampered>[1];
  callTimeoutMs?: number;
}

/** Twenty clients over two stores; what they did and heard. */
async function record({
  wrap = (subject) => subject,
  tamper,
  callTimeoutMs,
  ...workload
}: Partial<Workload> & Planted) {
  const stores = [1, 2].map(() => wrap(openStore({ tamper, callTimeoutMs })));
  const recorder = new Recorder();
  serial += 1;
  await runWorkload({
    recorder,
    random: new Random(serial),
    contexts: [`c${serial}-1`, `c${serial}-2`],
    clients: CLIENTS,
    operations: 25,
    subjectOf: (client) => stores[client % stores.length]!,
    ...workload,
  });
  return recorder.operations;
}

const share = (operations: readonly Operation[], ...kinds: string[]) =>
  operations.filter(({ output }) => kinds.includes(output.kind)).length / operations.length;

it('without faults', async () => {
  // Nothing is given up on a busy machine either.
  const operations = await record({ callTimeoutMs: 30_000 });
  expect(share(operations, 'unknown')).toBe(0);
  // Something happened, and much of it at once.
  expect(share(operations, 'patched')).toBeGreaterThan(0.2);
  expect(share(operations, 'conflict')).toBeGreaterThan(0.05);
  expect(checkLinearizable(operations)).toMatchObject({ linearizable: true, operations: operations.length });
});

it('while etcd is paused, killed and started again', async () => {
  let over = false;
  const recording = record({ operations: 10_000, pauseMs: 60, until: () => over, callTimeoutMs: 500 });
  await sleep(600);
  etcd.freeze();
  await sleep(1_200);
  etcd.thaw();
  await sleep(800);
  await etcd.crash();
  await sleep(300);
  await etcd.restart();
  await sleep(1_200);
  over = true;
  const operations = await recording;
  expect(share(operations, 'unknown')).toBeGreaterThan(0);
  expect(share(operations, 'patched', 'conflict', 'fields')).toBeGreaterThan(0.3);
  expect(checkLinearizable(operations)).toMatchObject({ linearizable: true, operations: operations.length });
}, 60_000);

describe('planted bugs are caught', () => {
  it.each<[string, Parameters<typeof record>[0]]>([
    ['the compare is dropped', { tamper: dropTheCompare }],
    ['versions are ignored in batches', { tamper: ignoreVersionsInBatches }],
    ['lists are folded blindly', { tamper: foldBlindly }],
    ['versions restart after a deletion', { wrap: restartVersions }],
    ['reads are stale', { wrap: readStale }],
    ['appends overwrite', { wrap: appendByOverwriting }],
  ])('%s', async (_, bug) => {
    const operations = await record(bug);
    expect(checkLinearizable(operations).linearizable).toBe(false);
  });
});
