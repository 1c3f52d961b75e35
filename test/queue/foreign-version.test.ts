import { Redis } from 'ioredis';
import { QUEUE_GROUP } from '../../src/protocol/queue-wire';
import { QueueConnection } from '../../src/sdk/queue-connection';
import { QueueDeliveries } from '../../src/sdk/queue-deliveries';
import { redisProgram, startRedis, type RedisServer } from '../contract/redis-server';

const QUEUE = 'agent-reach.old@1.0.0';

const program = redisProgram();
(program === undefined ? describe.skip : describe)('an agent of this release (needs redis-server on PATH)', () => {
  let redis: RedisServer;
  let client: Redis;
  let connection: QueueConnection;

  beforeAll(async () => {
    redis = await startRedis(program!);
    client = new Redis(redis.url);
    const place = { queue: QUEUE, address: redis.url, username: undefined };
    connection = new QueueConnection({ place, consumer: 'old', options: {} });
    await connection.open(10_000, new AbortController().signal);
  });
  afterAll(async () => {
    connection?.close();
    client?.disconnect();
    await redis?.kill();
  });

  it('leaves calls of a newer protocol to newer agents, says so once, and removes what is no call', async () => {
    const said: unknown[] = [];
    const log = { debug: () => undefined, info: () => undefined, error: () => undefined };
    const deliveries = new QueueDeliveries({
      connection,
      runner: {} as never,
      maxConcurrency: 4,
      payloads: {} as never,
      late: {} as never,
      options: {},
      log: { ...log, warn: (_facts, message) => void said.push(message) },
    });
    const newer = (await client.xadd(QUEUE, '*', 'v', '2', 'id', 'c-1', 'call', '{}'))!;
    await client.xadd(QUEUE, '*', 'some', 'nonsense');
    for (const entry of await connection.next(10)) deliveries.begin(entry, () => undefined);
    await deliveries.idle();
    // It may be given out to the wrong ones any number of times: it is no poison for that.
    for (let look = 0; look < 4; look += 1) {
      for (const entry of await connection.claim(0, 10)) deliveries.begin(entry, () => undefined);
      await deliveries.idle();
    }
    const left = (await client.xrange(QUEUE, '-', '+')).map(([id]) => id);
    expect(left).toEqual([newer]);
    const pending = (await client.xpending(QUEUE, QUEUE_GROUP, '-', '+', 10)) as [string, string, number, number][];
    expect(pending.map(([id, , , deliveries]) => [id, deliveries])).toEqual([[newer, 0]]);
    expect(said.filter((message) => String(message).includes('newer version'))).toHaveLength(1);
    expect(said).toHaveLength(2);
  });
});
