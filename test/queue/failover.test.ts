import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { RedisStreamsAdapter, type AdapterAnswer } from '../../src/adapters';
import { parseEgressAllow } from '../../src/policy/egress';
import { checkDescriptor } from '../../src/protocol/descriptor-loader';
import type { AgentCall } from '../../src/protocol/shapes';
import { QueueConnection } from '../../src/sdk/queue-connection';
import { redisProgram, startRedis, type RedisServer } from '../contract/redis-server';
import { waitFor } from '../support/wait-for';
import { BareConsumer } from './bare-consumer';

const QUEUE = 'agent-reach.packer@1.0.0';

/** A name that leads to one Redis, and later to another; connections stay where they are. */
async function startName(): Promise<{ url: string; leadTo(url: string): void; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let port = 0;
  const server: Server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo: (url) => (port = Number(new URL(url).port)),
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

const program = redisProgram();
(program === undefined ? describe.skip : describe)('a failover by DNS (needs redis-server on PATH)', () => {
  let servers: [RedisServer, RedisServer];
  let name: Awaited<ReturnType<typeof startName>>;
  const closers: (() => unknown)[] = [];

  beforeEach(async () => {
    servers = [await startRedis(program!), await startRedis(program!)];
    name = await startName();
    name.leadTo(servers[0].url);
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
    await name.close();
    for (const each of servers) await each.kill();
  });

  /** The first becomes a replica of the second, and from now on the name leads to that. */
  async function failOver(): Promise<void> {
    const [first, second] = servers;
    const client = new Redis(first.url);
    const { hostname, port } = new URL(second.url);
    await client.replicaof(hostname, port);
    client.disconnect();
    name.leadTo(second.url);
  }

  it('takes the platform along', async () => {
    const egress = parseEgressAllow(['127.0.0.0/8']);
    const adapter = new RedisStreamsAdapter({ egress, readToken: () => undefined });
    closers.push(() => adapter.close());
    const endpoint = { protocol: 'mq', address: name.url };
    const { descriptor } = checkDescriptor({ name: 'packer', version: '1.0.0', capabilities: ['pack'], endpoint });
    const context = {
      signal: new AbortController().signal,
      maxResponseBytes: 1_000,
      traceparent: '00-1-2-01',
      reachToken: 'token',
      budgetMs: 4_000,
    };
    const invoke = () =>
      adapter.invoke({ ability: 'pack', payload: {} } as AgentCall, { descriptor, instance: {} as never }, context);
    const consume = async (url: string) => {
      const consumer = new BareConsumer(url, QUEUE, 'c-1');
      const got = await consumer.next();
      await consumer.take(got);
      await consumer.done(got, { type: 'answer', output: '{"packed":true}' });
      consumer.close();
    };
    const answered: AdapterAnswer = { kind: 'answer', output: { packed: true }, bytes: 15 };
    expect((await Promise.all([invoke(), consume(servers[0].url)]))[0]).toEqual(answered);
    await failOver();
    await expect(invoke()).rejects.toMatchObject({ code: 'agent_unavailable', options: { received: 'no' } });
    const consuming = consume(servers[1].url);
    const again = await waitFor('an answer by way of the new primary', () => invoke().catch(() => null), 20_000);
    expect(again).toEqual(answered);
    await consuming;
  });

  it('takes agents along', async () => {
    const place = { queue: QUEUE, address: name.url, username: undefined };
    const connection = new QueueConnection({ place, consumer: 'c-1', options: {} });
    closers.push(() => connection.close());
    await connection.open(10_000, new AbortController().signal);
    await failOver();
    await expect(connection.makeGroup()).rejects.toThrow('READONLY');
    const made = () =>
      connection.makeGroup().then(
        () => true,
        () => false,
      );
    await waitFor('the group at the new primary', made, 20_000);
    const client = new Redis(servers[1].url);
    closers.push(() => client.disconnect());
    expect(await client.exists(QUEUE)).toBe(1);
  });
});
