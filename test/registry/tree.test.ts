/** Trees of nested reaches in etcd (R10, R27), as several processes see them. */
import fc from 'fast-check';
import { ReachTree } from '../../src/registry';
import { openFaultyRelay } from './outages/relay';
import { openPlace, sharedEtcdAddress, type Place } from './support';

let place: Place;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const processes = (count: number) => Array.from({ length: count }, () => new ReachTree(place.options));
const tree = (limit: number) => ({ run: 'run-1', limit });
const TTL = { ttlMs: 60_000 };

it('knows the children of a reach, and of no other whose id begins alike', async () => {
  const [one, other] = processes(2) as [ReachTree, ReachTree];
  await one.join({ parent: 'r-a', child: 'r-1', tree: tree(3), ...TTL });
  await other.join({ parent: 'r-a', child: 'r-2', tree: tree(3), ...TTL });
  await one.join({ parent: 'r-ab', child: 'r-3', tree: tree(3), ...TTL });
  expect((await other.children('r-a')).map(({ reachId }) => reachId).sort()).toEqual(['r-1', 'r-2']);
  expect(await one.children('r-none')).toEqual([]);
});

it('never lets a tree retry more often than it may, whoever asks at once', async () => {
  const trees = processes(3);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 1, max: 12 }),
      fc.uuid(),
      async (limit, asked, run) => {
        const budget = { run, limit };
        const answers = await Promise.all(
          Array.from({ length: asked }, (_, n) => trees[n % 3]!.takeRetry({ tree: budget, id: ['r', `${n}`], ...TTL })),
        );
        const given = answers.filter(Boolean).length;
        expect(given).toBeLessThanOrEqual(limit);
        // One after the other, what is left is given to the last.
        for (let n = given; n < limit; n += 1)
          expect(await trees[0]!.takeRetry({ tree: budget, id: ['later', `${n}`], ...TTL })).toBe(true);
        expect(await trees[1]!.takeRetry({ tree: budget, id: ['over'], ...TTL })).toBe(false);
        const { retriesUsed } = await trees[2]!.join({ parent: 'p', child: 'c', tree: budget, ...TTL });
        expect(retriesUsed).toBe(limit);
      },
    ),
    { numRuns: 15 },
  );
});

it('counts a retry once that is asked for twice', async () => {
  const [one] = processes(1) as [ReachTree];
  const retry = { tree: tree(1), id: ['r-1', 'after-1'], ...TTL };
  expect([await one.takeRetry(retry), await one.takeRetry(retry)]).toEqual([true, true]);
  expect(await one.takeRetry({ ...retry, id: ['r-1', 'after-2'] })).toBe(false);
});

it('lets retries go on while etcd is away', async () => {
  const away = openPlace('127.0.0.1:1');
  const alone = new ReachTree(away.options);
  expect(await alone.takeRetry({ tree: tree(0), id: ['r'], ...TTL })).toBe(true);
  await expect(alone.join({ parent: 'p', child: 'c', tree: tree(0), ...TTL })).rejects.toMatchObject({
    code: 'engine_unavailable',
  });
  await away.close();
});

it('waits a second for an etcd that hangs, and then for none for a while', async () => {
  const relay = await openFaultyRelay(sharedEtcdAddress());
  const far = openPlace(relay.address);
  const alone = new ReachTree(far.options);
  const retry = (id: string) => ({ tree: tree(1), id: [id], ...TTL });
  expect(await alone.takeRetry(retry('r-1'))).toBe(true);
  relay.silence();
  const tookMs: number[] = [];
  for (const id of ['r-2', 'r-3', 'r-4']) {
    const askedMs = performance.now();
    expect(await alone.takeRetry(retry(id))).toBe(true);
    tookMs.push(performance.now() - askedMs);
  }
  // A call of etcd's by itself has three seconds.
  expect(tookMs[0]).toBeLessThan(2_900);
  expect(tookMs[1]! + tookMs[2]!).toBeLessThan(1_000);
  await far.close();
  await relay.close();
});

it('is never one over its limit, though the one too many cannot be taken back', async () => {
  const [one] = processes(1) as [ReachTree];
  const { kv } = place.etcd;
  const send = kv.txn.bind(kv);
  const deleting = jest.spyOn(kv, 'txn').mockImplementation((request) => {
    const deletes = request.success?.some((op) => op.request_delete_range) ?? false;
    return deletes ? Promise.reject(new Error('etcd is away')) : send(request);
  });
  expect(await one.takeRetry({ tree: tree(1), id: ['r-1'], ...TTL })).toBe(true);
  expect(await one.takeRetry({ tree: tree(1), id: ['r-2'], ...TTL })).toBe(false);
  expect(deleting).toHaveBeenCalledTimes(3);
  deleting.mockRestore();
});

it('tells each sign of an agent from the one before, and attempts from each other', async () => {
  const [one, other] = processes(2) as [ReachTree, ReachTree];
  const attempt = { reachId: 'r-1', runId: 'run', attempt: 1 };
  expect(await one.lastSign(attempt)).toBeNull();
  await one.sign({ ...attempt, ...TTL });
  const first = await other.lastSign(attempt);
  await other.sign({ ...attempt, ...TTL });
  expect(await one.lastSign(attempt)).not.toBe(first);
  expect(await one.lastSign({ ...attempt, attempt: 2 })).toBeNull();
});

it('keeps a few traces of results that came too late', async () => {
  const [one] = processes(1) as [ReachTree];
  for (let n = 0; n < 25; n += 1)
    await one.noteLateResult('r-1', { at: new Date().toISOString(), attempt: 1, run_id: 'run' });
  expect(await one.lateResults('r-1')).toHaveLength(20);
  expect(await one.lateResults('r-2')).toEqual([]);
});
