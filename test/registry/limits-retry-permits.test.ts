import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEtcd, type RunningEngine } from '../../src/engines';
import { RetryPermits, type RetryPermit, type RetryPermitsOptions } from '../../src/registry';
import { openFaultyRelay, type FaultyRelay } from './outages/relay';
import { eventually, placesForEachTest, refusal, sharedEtcdAddress, type Place } from './support';

const open = placesForEachTest();

async function start(place: Place, extra: Partial<RetryPermitsOptions> = {}): Promise<RetryPermits> {
  const permits = new RetryPermits({ ...place.options, ...extra });
  place.onClose(() => permits.stop());
  await permits.start();
  return permits;
}

/** The slots that etcd knows, with their holders. */
async function inEtcd(place: Place): Promise<string[]> {
  const { kvs } = await place.etcd.getAll().prefix(`${place.options.keyPrefix}/default/retry-slots/`).exec();
  return kvs.map(({ value }) => (JSON.parse(value.toString()) as { holder: string }).holder);
}
const ask = (holder: string, ttlMs = 30_000) => ({ agentName: 'refund', holder, ttlMs });
const isPermit = (permit: RetryPermit | null): permit is RetryPermit => permit !== null;

it('two processes and 200 retries at once: never more than eight, and all come free', async () => {
  const place = open();
  const both = [await start(place), await start(place)];
  let held = 0;
  let most = 0;
  let mostInEtcd = 0;
  let given = 0;
  const one = async (n: number) => {
    const permits = both[n % 2]!;
    const request = ask(`reach-${n}`);
    const permit = await permits.acquire(request);
    if (permit === null) return;
    given += 1;
    most = Math.max(most, ++held);
    mostInEtcd = Math.max(mostInEtcd, (await inEtcd(place)).length);
    held -= 1;
    // Any process may give a permit back.
    await both[(n + 1) % 2]!.release({ ...request, ...permit });
  };
  for (let round = 0; round < 5; round++) {
    await Promise.all(Array.from({ length: 200 }, (_, n) => one(round * 200 + n)));
    await eventually(() => both.every((permits) => permits.outstanding('refund') === 0));
  }
  expect([most, mostInEtcd]).toEqual([8, 8]);
  expect(given).toBeGreaterThanOrEqual(40);
  expect(await inEtcd(place)).toEqual([]);
});

it('a storm that is refused asks etcd nothing', async () => {
  const place = open();
  const [one, two] = [await start(place), await start(place)];
  const taken = await Promise.all(Array.from({ length: 8 }, (_, n) => one.acquire(ask(`r${n}`))));
  expect(new Set(taken.filter(isPermit).map(({ slot }) => slot)).size).toBe(8);
  await eventually(() => two.outstanding('refund') === 8);
  const spies = [jest.spyOn(place.etcd.kv, 'txn'), jest.spyOn(place.etcd.leaseClient, 'leaseGrant')];
  for (let n = 0; n < 1_000; n++) expect(await two.acquire(ask(`late-${n}`))).toBeNull();
  for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  expect(await two.acquire({ ...ask('late-1'), agentName: 'calm' })).not.toBeNull();
});

it('leaves no lease behind', async () => {
  const place = open();
  const permits = await start(place);
  const leases = async () => new Set((await place.etcd.leaseClient.leaseLeases()).leases.map(({ ID }) => ID));
  const grants = jest.spyOn(place.etcd.leaseClient, 'leaseGrant');
  const permit = (await permits.acquire(ask('a')))!;
  await permits.renew({ ...ask('a', 60_000), ...permit });
  await permits.release({ ...ask('a'), ...permit });
  const granted = await Promise.all(grants.mock.results.map(({ value }) => value as Promise<{ ID: string }>));
  expect(granted).toHaveLength(2);
  await eventually(async () => {
    const known = await leases();
    return granted.every(({ ID }) => !known.has(ID));
  });
});

describe('a holder', () => {
  it('has one permit per agent, however often and wherever it asks', async () => {
    const place = open();
    const [one, two] = [await start(place), await start(place)];
    const asked = await Promise.all([one.acquire(ask('a')), one.acquire(ask('a')), one.acquire(ask('a'))]);
    expect(new Set(asked.map((permit) => permit!.slot)).size).toBe(1);
    await eventually(() => two.outstanding('refund') === 1);
    expect(await two.acquire(ask('a'))).toEqual(asked[0]);
    expect(await inEtcd(place)).toEqual(['a']);
  });

  it('keeps its slot when it renews, takes another when it has gone, and gets none when all are out', async () => {
    const place = open();
    const permits = await start(place, { concurrentPerAgent: 2 });
    const { slot } = (await permits.acquire(ask('a')))!;
    expect(await permits.renew({ ...ask('a'), slot })).toEqual({ slot });
    await permits.release({ ...ask('a'), slot });
    await permits.release({ ...ask('a'), slot });
    await eventually(() => permits.outstanding('refund') === 0);
    for (const holder of ['b', 'c']) expect(await permits.acquire(ask(holder))).not.toBeNull();
    expect(await permits.renew({ ...ask('a'), slot })).toBeNull();
    // Not its own any more: nothing happens.
    await permits.release({ ...ask('a'), slot });
    expect((await inEtcd(place)).sort()).toEqual(['b', 'c']);
  });

  it('that has died loses its permit when its time ends, and a renewed one lives on', async () => {
    const place = open();
    const permits = await start(place);
    const dead = (await permits.acquire(ask('dead', 1_200)))!;
    const alive = (await permits.acquire(ask('alive', 1_200)))!;
    expect(await permits.renew({ ...ask('alive'), ...alive })).toEqual(alive);
    await eventually(async () => (await inEtcd(place)).join() === 'alive', 10_000);
    await eventually(() => permits.outstanding('refund') === 1);
    expect(dead.slot).not.toBe(alive.slot);
  });
});

it('a slot whose value cannot be read is taken all the same', async () => {
  const place = open();
  await place.etcd.put(`${place.options.keyPrefix}/default/retry-slots/refund/0`).value('?');
  const permits = await start(place, { concurrentPerAgent: 1 });
  expect(await permits.acquire(ask('a'))).toBeNull();
});

it('whatever a holder has comes free at its end, wherever and by whomever it was taken', async () => {
  const place = open();
  const [one, two] = [await start(place), await start(place)];
  await one.acquire(ask('over'));
  await one.acquire({ ...ask('over'), agentName: 'calm' });
  await one.acquire(ask('runs'));
  await eventually(() => two.outstanding('refund') === 2 && two.outstanding('calm') === 1);
  await two.releaseAll('over');
  await two.releaseAll('nobody');
  expect(await inEtcd(place)).toEqual(['runs']);
});

describe('behind a line that fails', () => {
  let relay: FaultyRelay;
  beforeEach(async () => {
    relay = await openFaultyRelay(sharedEtcdAddress());
  });
  afterEach(() => relay.close());

  it('an etcd that hangs is waited for no longer than a second', async () => {
    const permits = await start(open(relay.address));
    const early = (await permits.acquire(ask('early')))!;
    relay.silence();
    const askedMs = performance.now();
    expect(await permits.acquire(ask('late'))).not.toBeNull();
    expect(performance.now() - askedMs).toBeLessThan(2_900);
    expect(await permits.renew({ ...ask('early'), ...early })).toEqual(early);
  });

  it('what arrives there too late holds no slot', async () => {
    const place = open();
    const permits = await start(place);
    const { leaseClient } = place.etcd;
    const grant = leaseClient.leaseGrant.bind(leaseClient);
    const slow = jest.spyOn(leaseClient, 'leaseGrant').mockImplementationOnce(async (request) => {
      await sleep(1_800);
      return grant(request);
    });
    const permit = (await permits.acquire(ask('a')))!;
    await permits.release({ ...ask('a'), ...permit });
    const { ID } = (await slow.mock.results[0]!.value) as { ID: string };
    await eventually(async () => {
      const { leases } = await leaseClient.leaseLeases();
      return leases.every((lease) => lease.ID !== ID);
    });
    await eventually(async () => (await inEtcd(place)).length === 0 && permits.outstanding('refund') === 0);
  });

  it('what is given back meanwhile comes free when it is back, but not what its holder has taken again', async () => {
    const far = open(relay.address);
    const permits = await start(far);
    const held = new Map<string, RetryPermit>();
    for (const holder of ['a', 'b']) held.set(holder, (await permits.acquire(ask(holder, 300_000)))!);
    relay.cut();
    for (const [holder, permit] of held) await permits.release({ ...ask(holder), ...permit });
    expect(await permits.acquire(ask('b', 300_000))).toEqual(held.get('b'));
    relay.mend();
    const near = { ...open(), options: far.options };
    await eventually(async () => (await inEtcd(near)).join() === 'b', 15_000);
    await eventually(() => permits.outstanding('refund') === 1, 15_000);
  });
});

describe('without etcd', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'permits-etcd-'));
  let engine: RunningEngine;
  beforeAll(async () => {
    engine = await startEtcd({ dataDir });
  });
  afterAll(async () => {
    await engine.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('each process keeps to the limit by itself, and etcd learns of it when it is back', async () => {
    const place = open(engine.address);
    const [one, two] = [await start(place), await start(place)];
    const early = (await one.acquire(ask('early')))!;
    for (let n = 0; n < 7; n++) await two.acquire(ask(`other-${n}`));
    await eventually(() => one.outstanding('refund') === 8);
    expect(await one.acquire(ask('late'))).toBeNull();
    await engine.stop();
    // What others held may be free by now, who knows: this process counts its own.
    const alone = await eventually(async () => {
      const permits: (RetryPermit | null)[] = [];
      for (let n = 0; n < 50; n++) permits.push(await one.acquire(ask(`alone-${n}`)));
      const given = permits.filter(isPermit);
      return given.length > 0 && given;
    });
    expect(alone).toHaveLength(7);
    expect(new Set([...alone, early].map(({ slot }) => slot)).size).toBe(8);
    expect(await one.acquire(ask('alone-0'))).toEqual(alone[0]);
    expect(await one.renew({ ...ask('early'), ...early })).toEqual(early);
    expect(await one.acquire(ask('late'))).toBeNull();
    await one.release({ ...ask('alone-1'), ...alone[1]! });
    expect(await one.acquire(ask('late'))).toEqual(alone[1]);
    engine = await startEtcd({ dataDir, port: Number(engine.address.split(':')[1]) });
    await sleep(2_500);
    // Other processes hold these numbers: ours run out by themselves, and until then nothing new is given.
    expect(await eventually(async () => (await inEtcd(place)).length === 8)).toBe(true);
    expect(await one.acquire(ask('later'))).toBeNull();
    for (let n = 0; n < 7; n++) for (let slot = 0; slot < 8; slot++) await two.release({ ...ask(`other-${n}`), slot });
    await eventually(async () => {
      const holders = await inEtcd(place);
      return holders.length === 8 && ['early', 'late', 'alone-0'].every((holder) => holders.includes(holder));
    });
    expect(one.outstanding('refund')).toBe(8);
  });

  it('cannot start', async () => {
    const place = open('127.0.0.1:1');
    expect(await refusal(new RetryPermits(place.options).start())).toMatchObject({ code: 'engine_unavailable' });
  });
});
