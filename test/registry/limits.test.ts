import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEtcd, type RunningEngine } from '../../src/engines';
import { Bulkheads } from '../../src/policy/bulkhead';
import { WorkerCensus, type WorkerCensusOptions } from '../../src/registry';
import { eventually, placesForEachTest, refusal, type Place } from './support';

const open = placesForEachTest();

async function joined(place: Place, workerId: string, extra: Partial<WorkerCensusOptions> = {}): Promise<WorkerCensus> {
  const census = new WorkerCensus({ ...place.options, workerId, ...extra });
  place.onClose(() => census.stop());
  await census.start();
  return census;
}
const shares = (all: WorkerCensus[], limit: number) => all.map((census) => census.share(limit));

describe('the census of workers', () => {
  it('gives the first worker all, and those who join their part after the others made room', async () => {
    const place = open();
    const one = await joined(place, 'a');
    expect([one.count, one.share(7)]).toEqual([1, 7]);
    const two = await joined(place, 'b');
    await eventually(() => one.share(7) === 4);
    expect(two.share(7)).toBe(0);
    await eventually(() => two.share(7) === 3);
    const three = await joined(place, 'c');
    const all = [one, two, three];
    await eventually(() => shares(all, 7).join() === '3,2,2');
    expect([shares(all, 1), shares(all, 2), shares(all, 0)]).toEqual([
      [1, 0, 0],
      [1, 1, 0],
      [0, 0, 0],
    ]);
    await two.stop();
    expect(two.share(7)).toBe(0);
    await eventually(() => shares([one, three], 7).join() === '4,3');
  });

  it('never shares out more than there is while five start at once and two leave', async () => {
    const place = open();
    const all = ['a', 'b', 'c', 'd', 'e'].map((workerId) => new WorkerCensus({ ...place.options, workerId }));
    for (const census of all) place.onClose(() => census.stop());
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, ...[1, 8, 13].map((limit) => sum(all, limit) - limit))), 2);
    await Promise.all(all.map((census) => census.start()));
    await eventually(() => sum(all, 13) === 13 && all.every((census) => census.count === 5));
    await Promise.all([all[0]!.stop(), all[3]!.stop()]);
    await eventually(() => sum(all, 13) === 13 && all[1]!.count === 3);
    clearInterval(watch);
    expect(most).toBe(0);
  });

  it('wakes those who wait in a bulkhead when the share grows', async () => {
    const place = open();
    const [one, two] = [await joined(place, 'a'), await joined(place, 'b')];
    const bulkheads = new Bulkheads({ shares: two, queueLimit: 10 });
    place.onClose(() => bulkheads.close());
    const enter = (patienceMs: number) =>
      bulkheads.enter({ key: 'refund', limit: 1, patienceMs, signal: new AbortController().signal });
    expect(await refusal(enter(5_000))).toMatchObject({ code: 'overloaded' });
    await eventually(() => two.share(2) === 1);
    await bulkheads.enter({ key: 'calm', limit: 2, patienceMs: 0, signal: new AbortController().signal });
    const waiting = bulkheads.enter({ key: 'calm', limit: 2, patienceMs: 8_000, signal: new AbortController().signal });
    await one.stop();
    await waiting;
    expect(bulkheads.inUse('calm')).toBe(2);
  });

  it('comes back by itself after its lease was lost, and keeps its share meanwhile', async () => {
    const place = open();
    const [one, two] = [await joined(place, 'a'), await joined(place, 'b')];
    await eventually(() => shares([one, two], 4).join() === '2,2');
    const keys = async () =>
      (await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/workers/`).exec()).kvs;
    for (const { lease } of await keys()) await place.etcd.leaseClient.leaseRevoke({ ID: lease });
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, sum([one, two], 4))), 2);
    await eventually(async () => (await keys()).length === 2);
    await sleep(1_500);
    clearInterval(watch);
    expect([most, shares([one, two], 4)]).toEqual([4, [2, 2]]);
  });
});

describe('without etcd', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'limits-etcd-'));
  let engine: RunningEngine;
  beforeAll(async () => {
    engine = await startEtcd({ dataDir: join(dataDir, 'one') });
  });
  afterAll(async () => {
    await engine.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('the last census stands, also when etcd comes back with nothing of it', async () => {
    const place = open(engine.address);
    const [one, two] = [await joined(place, 'a'), await joined(place, 'b')];
    await eventually(() => shares([one, two], 4).join() === '2,2');
    let most = 0;
    let least = 4;
    const watch = setInterval(() => {
      most = Math.max(most, sum([one, two], 4));
      least = Math.min(least, sum([one, two], 4));
    }, 5);
    await engine.stop();
    await sleep(1_500);
    engine = await startEtcd({ dataDir: join(dataDir, 'two'), port: Number(engine.address.split(':')[1]) });
    const keys = async () => (await place.etcd.getAll().prefix(place.options.keyPrefix).exec()).kvs.length;
    await eventually(async () => (await keys()) === 2, 10_000);
    await sleep(3_500);
    clearInterval(watch);
    expect([most, least]).toEqual([4, 4]);
    await two.stop();
    await eventually(() => one.share(4) === 4);
  });

  it('a census cannot start', async () => {
    const place = open('127.0.0.1:1');
    const census = new WorkerCensus(place.options);
    expect(await refusal(census.start())).toMatchObject({ code: 'engine_unavailable' });
    expect(census.share(4)).toBe(0);
  });
});

const sum = (all: WorkerCensus[], limit: number) => shares(all, limit).reduce((total, share) => total + share, 0);
