import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { checkDescriptor } from '../../src/protocol/descriptor-loader';
import { QueueHost } from '../../src/sdk/queue-host';
import { redisProgram, startRedis, type RedisServer } from '../contract/redis-server';
import { waitFor } from '../support/wait-for';

const program = redisProgram();
(program === undefined ? describe.skip : describe)('the upkeep of a queue (needs redis-server on PATH)', () => {
  let redis: RedisServer;
  let client: Redis;

  beforeAll(async () => {
    redis = await startRedis(program!);
    client = new Redis(redis.url);
  });
  afterAll(async () => {
    client?.disconnect();
    await redis?.kill();
  });

  it('that fails while reading works is told, once for each outage', async () => {
    const rights = ['on', '>open-sesame', '~*', '+@all'] as const;
    await client.call('ACL', 'SETUSER', 'agent', ...rights);
    const endpoint = { protocol: 'mq', address: redis.url, ack_timeout_ms: 300 };
    const { descriptor } = checkDescriptor({ name: 'packer', version: '1.0.0', capabilities: ['pack'], endpoint });
    const warned: string[] = [];
    const nothing = () => undefined;
    const host = await QueueHost.start({
      descriptor,
      instanceId: 'packer-1',
      maxConcurrency: 1,
      startTimeoutMs: 10_000,
      leaving: new AbortController().signal,
      runner: { idle: () => Promise.resolve(), abortAll: nothing } as never,
      payloads: {} as never,
      late: { settled: () => Promise.resolve() } as never,
      options: { username: 'agent', password: 'open-sesame' },
      log: { debug: nothing, info: nothing, error: nothing, warn: (_facts, message) => void warned.push(message) },
    });
    for (const outage of [1, 2]) {
      await client.call('ACL', 'SETUSER', 'agent', '-xautoclaim');
      await waitFor('the warning', () => warned.length >= outage, 10_000);
      await sleep(500); // some more looks that fail
      await client.call('ACL', 'SETUSER', 'agent', '+xautoclaim');
      await sleep(500); // and some that do not
    }
    expect(warned).toEqual(Array(2).fill('calls in hand cannot be renewed; trying again'));
    await host.drain(1_000);
  });
});
