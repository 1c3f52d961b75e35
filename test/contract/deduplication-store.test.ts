import express from 'express';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MAX_DEDUPLICATION_TTL_MS, MIN_DEDUPLICATION_TTL_MS } from '../../src/protocol/deduplication';
import { authenticate } from '../../src/gateway/authentication';
import { errorHandler } from '../../src/gateway/problems';
import { deduplicationRoutes } from '../../src/gateway/routes/deduplication';
import { DeduplicationRecords, PlatformDeduplication } from '../../src/registry/deduplication';
import { EtcdDeduplicationStore } from '../../src/sdk/dedup/etcd';
import { PlatformDeduplicationStore } from '../../src/sdk/dedup/platform';
import { RedisDeduplicationStore } from '../../src/sdk/dedup/redis';
import { createLogger } from '../../src/telemetry/logger';
import { eventually, openPlace, openRelay, refusal, sharedEtcdAddress, type Place } from '../registry/support';
import { Api } from '../support/api';
import { expectProblem } from '../support/problem';
import { Redis } from 'ioredis';
import { describeDeduplicationStore, fence, newKey } from './deduplication-contract';
import { redisProgram, startRedis, type RedisServer } from './redis-server';

const ttlMs = MIN_DEDUPLICATION_TTL_MS;
const HOUR_MS = 3_600_000;
const API_KEY = 'open-sesame';

let place: Place;
beforeAll(() => (place = openPlace()));
afterAll(() => place.close());

describe('etcd', () => {
  let stores: [EtcdDeduplicationStore, EtcdDeduplicationStore];
  beforeAll(() => {
    const { keyPrefix } = place.options;
    const open = () => new EtcdDeduplicationStore({ hosts: sharedEtcdAddress(), keyPrefix: `${keyPrefix}/own/` });
    stores = [open(), open()];
  });
  afterAll(() => Promise.all(stores.map((store) => store.close())));

  describeDeduplicationStore('etcd', () => stores);

  it('refuses to write at the root', () => {
    expect(() => new EtcdDeduplicationStore({ hosts: sharedEtcdAddress(), keyPrefix: '/' })).toThrow(RangeError);
  });

  describe('leases', () => {
    let nowMs: number;
    let records: DeduplicationRecords;
    beforeEach(() => {
      nowMs = 0;
      records = new DeduplicationRecords(place.etcd, { monotonicMs: () => nowMs });
    });

    const keyOf = (name: string) => `${place.options.keyPrefix}/leases/${name}`;
    const leaseOf = async (key: string) => {
      const { kvs } = await place.etcd.kv.range({ key: Buffer.from(key) });
      return kvs[0]?.lease ?? '0';
    };
    const record = async (name: string, forMs = ttlMs) => {
      const key = keyOf(name);
      await records.complete({ key, fence: fence(1), output: { name }, ttlMs: forMs });
      return leaseOf(key);
    };
    const grantedMs = async (ID: string) => {
      const { grantedTTL } = await place.etcd.leaseClient.leaseTimeToLive({ ID });
      return Number(grantedTTL) * 1_000;
    };

    it('are shared by what an hour brings, and outlast the last of it', async () => {
      const first = await Promise.all(Array.from({ length: 20 }, (_, n) => record(`first-${n}`)));
      nowMs = HOUR_MS - 1;
      const last = await record('last');
      expect(new Set([...first, last]).size).toBe(1);
      expect(await grantedMs(last)).toBe(ttlMs + HOUR_MS);
      nowMs = HOUR_MS;
      expect(await record('next')).not.toBe(last);
    });

    it('go by how long a record is to live', async () => {
      const [day, week] = [await record('a-day'), await record('a-week', 7 * ttlMs)];
      expect([await grantedMs(day), await grantedMs(week)]).toEqual([ttlMs + HOUR_MS, 7 * ttlMs + HOUR_MS]);
    });

    it('are granted anew when etcd has lost one, and claims then move under the new one', async () => {
      const key = keyOf('moved');
      await records.begin({ key, fence: fence(1), ttlMs });
      const lost = await leaseOf(key);
      await place.etcd.leaseClient.leaseRevoke({ ID: lost });
      expect(await records.begin({ key, fence: fence(2), ttlMs })).toEqual({ status: 'free' });
      expect(await leaseOf(key)).not.toBe(lost);
      nowMs = HOUR_MS;
      const claimed = await leaseOf(key);
      await records.complete({ key, fence: fence(2), output: {}, ttlMs });
      expect([claimed, '0']).not.toContain(await leaseOf(key));
    });
  });

  it('does not take what it cannot read for nothing', async () => {
    const key = `${place.options.keyPrefix}/broken`;
    await place.etcd.put(key).value('{"v":2}');
    const records = new DeduplicationRecords(place.etcd);
    const error = await refusal(records.begin({ key, fence: null, ttlMs }));
    expect([error.code, error.message]).toEqual(['internal', expect.stringContaining(key)]);
    await refusal(records.complete({ key, fence: fence(1), output: {}, ttlMs }));
  });
});

describe('platform', () => {
  let server: Server;
  let api: Api;
  let url: string;
  let stores: [PlatformDeduplicationStore, PlatformDeduplicationStore];
  beforeAll(async () => {
    const app = express();
    app.use('/v1', authenticate(API_KEY), express.raw({ type: () => true, limit: 1_114_112 }));
    app.use('/v1/agents', deduplicationRoutes({ deduplication: new PlatformDeduplication(place.options) }));
    app.use(errorHandler(createLogger('gateway', 'silent')));
    server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    api = new Api(url, { authorization: `Bearer ${API_KEY}` });
    const open = () => new PlatformDeduplicationStore({ url, apiKey: API_KEY, agentName: 'refund_agent' });
    stores = [open(), open()];
  });
  afterAll(async () => {
    await Promise.all([...stores.map((store) => store.close()), api.close()]);
    await new Promise((resolve) => server.close(resolve));
  });

  describeDeduplicationStore('the platform', () => stores);

  it('keeps the records of two agents apart', async () => {
    const key = newKey();
    await stores[0].complete({ key, fence: fence(1), output: {}, ttlMs });
    const other = new PlatformDeduplicationStore({ url, apiKey: API_KEY, agentName: 'billing_agent' });
    expect(await other.begin({ key, fence: null, ttlMs })).toEqual({ status: 'free' });
    await other.close();
  });

  it('asks for the API key', async () => {
    const stranger = new PlatformDeduplicationStore({ url, agentName: 'refund_agent' });
    expect((await refusal(stranger.begin({ key: newKey(), fence: null, ttlMs }))).code).toBe('unauthorized');
    await stranger.close();
  });

  const begin = { key: 'a'.repeat(64), fence: fence(1), ttl_ms: ttlMs };
  it.each<[string, object, string]>([
    ['a key that is no hash', { ...begin, key: '../refund' }, '/key'],
    ['a fence of another width', { ...begin, fence: '1' }, '/fence'],
    ['less than 24 hours', { ...begin, ttl_ms: ttlMs - 1 }, '/ttl_ms'],
    ['more than 30 days', { ...begin, ttl_ms: MAX_DEDUPLICATION_TTL_MS + 1 }, '/ttl_ms'],
    ['what it does not know', { ...begin, claim: true }, '/claim'],
  ])('refuses %s', async (_, body, pointer) => {
    const problem = expectProblem(await api.post('/v1/agents/a/deduplication:begin', body), 'invalid_request');
    expect(problem.errors?.map((one) => one.pointer)).toContain(pointer);
  });

  it('refuses to record without a fence, or what is no object', async () => {
    const path = '/v1/agents/a/deduplication:complete';
    for (const body of [
      { ...begin, fence: null, output: {} },
      { ...begin, output: [1] },
    ])
      expectProblem(await api.post(path, body), 'invalid_request');
  });

  it('refuses outputs over 256 KiB, and names that no agent can have', async () => {
    const output = { text: 'x'.repeat(262_144) };
    const problem = expectProblem(
      await api.post('/v1/agents/a/deduplication:complete', { ...begin, output }),
      'payload_too_large',
    );
    expect(problem.detail).toContain('262144');
    expectProblem(await api.post('/v1/agents/No%2Fname/deduplication:begin', begin), 'agent_not_found');
  });

  it('says within seconds that etcd is out of reach, and works again when it is back', async () => {
    const relay = await openRelay(sharedEtcdAddress());
    const store = new EtcdDeduplicationStore({ hosts: relay.address, keyPrefix: `${place.options.keyPrefix}/relay` });
    const request = { key: newKey(), fence: fence(1), ttlMs };
    await store.begin(request);
    relay.cut();
    const startedMs = performance.now();
    expect((await refusal(store.complete({ ...request, output: {} }))).code).toBe('engine_unavailable');
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    relay.mend();
    const answer = await eventually(() => store.complete({ ...request, output: {} }));
    expect(answer).toEqual({ status: 'recorded' });
    await store.close();
    await relay.close();
  });
});

const program = redisProgram();
(program === undefined ? describe.skip : describe)('redis (needs redis-server on PATH)', () => {
  let redis: RedisServer;
  let stores: [RedisDeduplicationStore, RedisDeduplicationStore];
  beforeAll(async () => {
    redis = await startRedis(program!);
    const open = () => new RedisDeduplicationStore({ url: redis.url });
    stores = [open(), open()];
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await redis.kill();
  });

  describeDeduplicationStore('redis', () => stores);

  it('keeps claims and results for their time, under its prefix', async () => {
    const client = new Redis(redis.url);
    const key = newKey();
    const left = async () => client.pttl(`agent-reach:deduplication:${key}`);
    await stores[0].begin({ key, fence: fence(1), ttlMs });
    expect(await left()).toBeGreaterThan(ttlMs - 60_000);
    await stores[0].complete({ key, fence: fence(1), output: {}, ttlMs: 2 * ttlMs });
    expect(await left()).toBeGreaterThan(2 * ttlMs - 60_000);
    client.disconnect();
  });

  it('says within seconds that Redis is gone', async () => {
    const other = await startRedis(program!);
    const store = new RedisDeduplicationStore({ url: other.url });
    const request = { key: newKey(), fence: fence(1), ttlMs };
    await store.begin(request);
    await other.kill();
    const startedMs = performance.now();
    await expect(store.begin(request)).rejects.toThrow();
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    await store.close();
  });
});
