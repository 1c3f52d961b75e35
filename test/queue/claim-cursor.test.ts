import { Redis } from 'ioredis';
import { QUEUE_GROUP } from '../../src/protocol/queue-wire';
import { QueueConnection } from '../../src/sdk/queue-connection';
import { redisProgram, startRedis, type RedisServer } from '../contract/redis-server';

const QUEUE = 'agent-reach.busy@1.0.0';
const LIVE = 50;
const DROPPED = 10;
/** Of those whose holder is gone. */
const IDLE_MS = 60_000;

const program = redisProgram();
(program === undefined ? describe.skip : describe)('a queue in a busy fleet (needs redis-server on PATH)', () => {
  let redis: RedisServer;
  let client: Redis;
  let connection: QueueConnection;

  beforeAll(async () => {
    redis = await startRedis(program!);
    client = new Redis(redis.url);
    const place = { queue: QUEUE, address: redis.url, username: undefined };
    connection = new QueueConnection({ place, consumer: 'heir', options: {} });
    await connection.open(10_000, new AbortController().signal);
  });
  afterAll(async () => {
    connection?.close();
    client?.disconnect();
    await redis?.kill();
  });

  /** Gives the next messages to a consumer. Answers their ids. */
  async function read(consumer: string, count: number): Promise<string[]> {
    const found = await client.xreadgroup('GROUP', QUEUE_GROUP, consumer, 'COUNT', count, 'STREAMS', QUEUE, '>');
    return (found as [string, [string, string[]][]][])[0]![1].map(([id]) => id);
  }

  /** What is taken over within so many looks. */
  async function claimed(looks: number): Promise<string[]> {
    const all: string[] = [];
    for (let look = 0; look < looks; look += 1)
      all.push(...(await connection.claim(IDLE_MS / 2, 2)).map(({ entry }) => entry));
    return all;
  }

  it('takes over what lies behind many messages that are worked on, and begins again at the end', async () => {
    for (let n = 0; n < LIVE + DROPPED; n += 1) await client.xadd(QUEUE, '*', 'n', n);
    const live = await read('living', LIVE);
    const dropped = await read('dead', DROPPED);
    await client.xclaim(QUEUE, QUEUE_GROUP, 'dead', 0, ...dropped, 'IDLE', IDLE_MS);
    expect(await claimed(8)).toEqual(dropped);
    // The holder of the oldest dies as well.
    await client.xclaim(QUEUE, QUEUE_GROUP, 'living', 0, live[0]!, 'IDLE', IDLE_MS);
    expect(await claimed(4)).toEqual([live[0]]);
  });
});
