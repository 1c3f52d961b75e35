import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { ConnectionLedger, RedisStreamsAdapter, type AdapterContext } from '../../src/adapters';
import { freePorts } from '../../src/engines/ports';
import { parseEgressAllow } from '../../src/policy/egress';
import { checkDescriptor } from '../../src/protocol/descriptor-loader';
import { ReachError } from '../../src/protocol/reach-error';
import type { AgentCall } from '../../src/protocol/shapes';
import { redisProgram, startRedis, type RedisServer } from '../contract/redis-server';
import { waitFor } from '../support/wait-for';
import { BareConsumer } from './bare-consumer';

const QUEUE = 'agent-reach.packer@1.0.0';

function descriptorOf(address: string, more: object = {}) {
  const capabilities = ['pack', { name: 'ship', idempotent: false }];
  const endpoint = { protocol: 'mq', address };
  return checkDescriptor({ name: 'packer', version: '1.0.0', capabilities, endpoint, ...more }).descriptor;
}

const call = (more: Partial<AgentCall> = {}): AgentCall => ({
  message_id: 'm-1',
  reach_id: 'r-1',
  ability: 'pack',
  type: 'task',
  payload: { order: 7 },
  context_id: null,
  idempotency_key: 'k-1',
  delivery_semantics: 'at_least_once',
  source_agent: 'tester',
  group: 'default',
  version: '1.0.0',
  attempt: 1,
  fence: '1'.repeat(19),
  deadline_ms: 2_000,
  bypass: false,
  ...more,
});

const program = redisProgram();
(program === undefined ? describe.skip : describe)('the Redis Streams adapter (needs redis-server on PATH)', () => {
  let redis: RedisServer;
  let client: Redis;
  let adapter: RedisStreamsAdapter;
  let consumer: BareConsumer;
  const newAdapter = () =>
    new RedisStreamsAdapter({ egress: parseEgressAllow(['127.0.0.0/8']), readToken: (name) => tokens[name] });
  const tokens: Record<string, string> = { QUEUE_TOKEN: 'open-sesame' };

  beforeAll(async () => {
    redis = await startRedis(program!);
    client = new Redis(redis.url);
  });
  beforeEach(async () => {
    await client.flushall();
    adapter = newAdapter();
    consumer = new BareConsumer(redis.url, QUEUE, 'c-1');
  });
  afterEach(async () => {
    await adapter.close();
    consumer.close();
  });
  afterAll(async () => {
    client?.disconnect();
    await redis?.kill();
  });

  const invoke = (
    { budgetMs = 10_000, ...context }: Partial<AdapterContext> = {},
    {
      descriptor = descriptorOf(redis.url),
      ...more
    }: Partial<AgentCall> & { descriptor?: ReturnType<typeof descriptorOf> } = {},
  ) =>
    adapter.invoke(
      call(more),
      { descriptor, instance: {} as never },
      {
        signal: new AbortController().signal,
        maxResponseBytes: 1_000_000,
        traceparent: '00-1-2-01',
        reachToken: 'token',
        budgetMs,
        ...context,
      },
    );
  const failure = (outcome: Promise<unknown>) =>
    outcome.then(
      () => null,
      (caught: unknown) => {
        const { code, message, options } = ReachError.from(caught);
        return { code, message, received: options.received };
      },
    );
  /** What is left behind in Redis, replies that are about to be removed aside. */
  const leftovers = async () => {
    const keys = await client.keys('*');
    const lengths = await Promise.all(
      keys.map(async (key) => ((await client.type(key)) === 'stream' ? await client.xlen(key) : 1)),
    );
    return keys.filter((_, index) => lengths[index] !== 0);
  };

  it.each(['in valid', 'x'.repeat(129), 'static-0', 'line\nfeed'])('takes %j for no instance', async (name) => {
    const odd = new BareConsumer(redis.url, QUEUE, name);
    const takers: string[] = [];
    const outcome = invoke({ takenBy: (id) => takers.push(id) });
    const got = await odd.next();
    await odd.take(got);
    await odd.done(got, { type: 'answer', output: '{}' });
    await expect(outcome).resolves.toMatchObject({ kind: 'answer' });
    expect(takers).toEqual([]);
    odd.close();
  });

  it('does not go on calling for a broker that nobody uses', async () => {
    const [gone] = await freePorts(1);
    let failures = 0;
    const counting = { onConnectFailed: () => (failures += 1) };
    const egress = parseEgressAllow(['127.0.0.0/8']);
    await adapter.close();
    adapter = new RedisStreamsAdapter({ egress, readToken: () => undefined, counting, idleMs: 100 });
    const descriptor = descriptorOf(`redis://127.0.0.1:${gone}`);
    expect(await failure(invoke({}, { descriptor }))).toMatchObject({ code: 'agent_unavailable', received: 'no' });
    await sleep(500); // any number of looks
    const until = failures;
    await sleep(1_500); // twice the longest pause between two tries
    expect(failures).toBe(until);
  });

  it('sends what an HTTP agent is sent, and takes the first answer; nothing stays', async () => {
    const takers: string[] = [];
    const outcome = invoke({ takenBy: (id) => takers.push(id) });
    const got = await consumer.next();
    expect(got.message).toEqual({
      id: expect.any(String),
      replyTo: expect.stringMatching(/^agent-reach\.replies\./),
      once: false,
      traceparent: '00-1-2-01',
      reachToken: 'token',
      call: call(),
    });
    expect(Number(got.fields.get('expires_at')) - Number(got.entry.split('-')[0])).toBeGreaterThan(1_500);
    expect(await consumer.take(got)).toMatchObject(['taken', expect.any(Number), 1]);
    expect(await consumer.done(got, { type: 'answer', output: '{"packed":true}' })).toBe('done');
    await expect(outcome).resolves.toEqual({ kind: 'answer', output: { packed: true }, bytes: 15 });
    expect(takers[0]).toBe('c-1');
    expect(await consumer.done(got, { type: 'answer', output: '{"packed":"twice"}' })).toBe('gone');
    await waitFor('nothing left', async () => (await leftovers()).length === 0);
  });

  it('takes back what nobody takes up in half of its time, so that another agent can be tried', async () => {
    const startedMs = performance.now();
    const failed = await failure(invoke({ budgetMs: 6_000 }));
    expect(failed).toMatchObject({
      code: 'agent_unavailable',
      received: 'no',
      message: expect.stringContaining(QUEUE),
    });
    expect(performance.now() - startedMs).toBeLessThan(5_800);
    await waitFor('nothing left', async () => (await leftovers()).length === 0);
    expect(await consumer.nextOrNone()).toBeNull();
  });

  it('says that a call which was taken up and not answered was received', async () => {
    const outcome = failure(invoke({ budgetMs: 4_000 }));
    const got = await consumer.next();
    await consumer.take(got);
    expect(await outcome).toMatchObject({ code: 'agent_timeout', received: 'yes' });
    await waitFor('the call being over', async () => (await consumer.keep(got)).length > 0);
    expect(await consumer.done(got, { type: 'answer', output: '{}' })).toBe('gone');
    expect(await leftovers()).toEqual([]);
  });

  it('does not let a message be begun whose time is over', async () => {
    const outcome = failure(invoke({ budgetMs: 3_000 }));
    const got = await consumer.next();
    await outcome;
    expect(await consumer.take(got)).toEqual(['gone']);
  });

  it('stops the agent when it is aborted', async () => {
    const stop = new AbortController();
    const outcome = invoke({ signal: stop.signal }).catch((caught: unknown) => caught);
    const got = await consumer.next();
    await consumer.take(got);
    expect(await consumer.keep(got)).toEqual([]);
    const reason = new Error('cancelled');
    stop.abort(reason);
    expect(await outcome).toBe(reason);
    await waitFor('the agent being told', async () => (await consumer.keep(got)).length > 0);
  });

  it.each<[what: string, more: Partial<AgentCall>]>([
    ['at_most_once', { delivery_semantics: 'at_most_once' }],
    ['an ability that is not idempotent', { ability: 'ship' }],
  ])('has %s acknowledged before the work begins', async (_what, more) => {
    const outcome = invoke({}, more);
    const got = await consumer.next();
    await consumer.take(got);
    expect([await client.xlen(QUEUE), await consumer.claim(0)]).toEqual([0, []]);
    expect(await consumer.keep(got)).toEqual([]);
    await consumer.done(got, { type: 'answer', output: '{"ok":1}' });
    await expect(outcome).resolves.toMatchObject({ output: { ok: 1 } });
  });

  it.each<[what: string, reply: string[], answer: object]>([
    ['accepted', ['type', 'accepted'], { kind: 'accepted' }],
    ['an uploaded answer', ['type', 'uploaded', 'output_ref', 'sha256:x:1'], { kind: 'uploaded', ref: 'sha256:x:1' }],
    [
      'a refusal',
      ['type', 'failed', 'code', 'agent_rejected', 'message', 'no\u001b[2J'],
      { code: 'agent_rejected', message: 'no [2J' },
    ],
    [
      'a failure without words',
      ['type', 'failed', 'code', 'agent_error'],
      { code: 'agent_error', message: expect.stringContaining('failed') },
    ],
    [
      'a code that is not its own',
      ['type', 'failed', 'code', 'unauthorized', 'message', 'x'],
      { code: 'agent_protocol_error' },
    ],
    ['no JSON', ['type', 'answer', 'output', '{'], { code: 'agent_protocol_error' }],
    ['a list', ['type', 'answer', 'output', '[]'], { code: 'agent_protocol_error' }],
    ['an inexact number', ['type', 'answer', 'output', '{"n":1e400}'], { code: 'agent_protocol_error' }],
    [
      'too deep an answer',
      ['type', 'answer', 'output', `{"a":${'['.repeat(70)}${']'.repeat(70)}}`],
      { code: 'response_schema_mismatch' },
    ],
    [
      'too large an answer',
      ['type', 'answer', 'output', JSON.stringify({ x: 'x'.repeat(1_000_000) })],
      { code: 'agent_response_too_large' },
    ],
    ['no known type', ['type', 'dance'], { code: 'agent_protocol_error' }],
  ])('reads %s', async (_what, reply, answer) => {
    const outcome = invoke().catch((caught: unknown) => caught);
    const got = await consumer.next();
    await consumer.take(got);
    await client.xadd(got.message.replyTo, '*', 'id', got.message.id, ...reply);
    expect(await outcome).toMatchObject(answer);
    if ((await outcome) instanceof ReachError) expect(await outcome).toMatchObject({ options: { received: 'yes' } });
  });

  it('tells what is wrong with the Redis itself', async () => {
    const wrong = descriptorOf(redis.url, { endpoint: { protocol: 'mq', address: redis.url, queue: 'text' } });
    await client.set('text', 'x');
    expect(await failure(invoke({}, { descriptor: wrong }))).toMatchObject({
      code: 'agent_protocol_error',
      received: 'no',
    });
    const absent = descriptorOf('redis://127.0.0.1:1');
    expect(await failure(invoke({ budgetMs: 2_000 }, { descriptor: absent }))).toMatchObject({
      code: 'agent_unavailable',
      received: 'no',
    });
    const forbidden = descriptorOf('redis://10.0.0.1:6379');
    expect(await failure(invoke({}, { descriptor: forbidden }))).toMatchObject({ code: 'callback_url_forbidden' });
    const locked = descriptorOf(redis.url, { auth: { type: 'static_token', token_env: 'NOT_SET' } });
    expect(await failure(invoke({}, { descriptor: locked }))).toMatchObject({
      code: 'agent_auth_unconfigured',
      received: 'no',
    });
    await client.config('SET', 'maxmemory', '1');
    expect(await failure(invoke())).toMatchObject({
      code: 'agent_unavailable',
      message: expect.stringContaining('memory'),
    });
    await client.config('SET', 'maxmemory', '0');
    await waitFor('nothing left', async () => (await leftovers()).join() === 'text');
  });

  it('takes any number of calls that wait for a broker, without a warning of leaking listeners', async () => {
    const { connect } = Redis.prototype;
    let [waiting, allowed] = [0, 0];
    const watched = jest.spyOn(Redis.prototype, 'connect').mockImplementationOnce(function (this: Redis) {
      this.on('newListener', () => (waiting = Math.max(waiting, this.listenerCount('ready') + 1)));
      allowed = this.getMaxListeners() || Infinity;
      return connect.call(this);
    });
    const descriptor = descriptorOf('redis://127.0.0.1:1');
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => failure(invoke({ budgetMs: 2_000 }, { descriptor }))),
    );
    watched.mockRestore();
    expect(outcomes.map((outcome) => outcome?.code)).toEqual(outcomes.map(() => 'agent_unavailable'));
    expect(waiting).toBeGreaterThanOrEqual(20);
    expect(allowed).toBeGreaterThanOrEqual(waiting);
  });

  it('counts calls and connections, those that fail too, so that the doctor can tell', async () => {
    const ledger = new ConnectionLedger();
    const counting = {
      onRequest: (origin: string) => ledger.requested(origin),
      onConnect: (origin: string) => ledger.connected(origin),
      onConnectFailed: (origin: string) => ledger.failed(origin),
    };
    await adapter.close();
    adapter = new RedisStreamsAdapter({
      egress: parseEgressAllow(['127.0.0.0/8']),
      readToken: () => undefined,
      counting,
    });
    for (let n = 0; n < 2; n += 1) await failure(invoke({ budgetMs: 2_000 }));
    await failure(invoke({ budgetMs: 2_000 }, { descriptor: descriptorOf('redis://127.0.0.1:1') }));
    expect(ledger.counts().origins).toEqual([
      { origin: redis.url, requests: 2, connections: 1, failures: 0 },
      { origin: 'redis://127.0.0.1:1', requests: 0, connections: 0, failures: expect.any(Number) },
    ]);
    expect(ledger.counts().origins[1]?.failures).toBeGreaterThan(0);
  });

  it('works with no more rights than the documentation asks for', async () => {
    await client.acl('SETUSER', 'reach', 'on', '>open-sesame', ...PLATFORM_RIGHTS);
    await client.acl('SETUSER', 'packer', 'on', '>knock', ...AGENT_RIGHTS);
    const auth = { type: 'static_token', token_env: 'QUEUE_TOKEN' };
    const endpoint = { protocol: 'mq', address: redis.url, username: 'reach' };
    const own = new BareConsumer(redis.url, QUEUE, 'c-2', { username: 'packer', password: 'knock' });
    const outcome = invoke({}, { descriptor: descriptorOf(redis.url, { auth, endpoint }) });
    const got = await own.next();
    await own.take(got);
    expect(await own.keep(got)).toEqual([]);
    await own.done(got, { type: 'answer', output: '{}' });
    await expect(outcome).resolves.toMatchObject({ kind: 'answer' });
    expect(await own.claim(0)).toEqual([]);
    await own.leave();
    own.close();
    tokens.QUEUE_TOKEN = 'changed';
    const refused = await invoke({}, { descriptor: descriptorOf(redis.url, { auth, endpoint }) }).catch(
      (caught: unknown) => caught,
    );
    expect(refused).toMatchObject({ code: 'agent_auth_unconfigured', options: { received: 'no' } });
    // Causes are logged; the client's own errors carry their commands.
    expect(inspect(refused, { depth: 10, showHidden: true })).not.toContain('changed');
  });

  it('fails a call at once whose Redis comes back without its data, and goes on with the next', async () => {
    const outcome = failure(invoke({ budgetMs: 20_000 }));
    await consumer.take(await consumer.next());
    await redis.restart();
    expect(await outcome).toMatchObject({ code: 'agent_unavailable', received: 'yes' });
    const again = invoke();
    const got = await consumer.next();
    await consumer.take(got);
    await consumer.done(got, { type: 'answer', output: '{"again":true}' });
    await expect(again).resolves.toMatchObject({ output: { again: true } });
  });

  it('closes while its Redis is away', async () => {
    const other = await startRedis(program!);
    const outcome = failure(invoke({ budgetMs: 20_000 }, { descriptor: descriptorOf(other.url) }));
    const taker = new BareConsumer(other.url, QUEUE, 'c-3');
    await taker.next();
    taker.close();
    await other.kill();
    const startedMs = performance.now();
    await adapter.close();
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(await outcome).toMatchObject({ code: 'agent_unavailable', received: 'unknown' });
  });
});

/** As in docs/queue-agents.md. */
const BOTH = [
  'resetkeys',
  '~agent-reach.replies.*',
  `~${QUEUE}*`,
  '+select',
  '+eval',
  '+evalsha',
  '+xadd',
  '+xack',
  '+xdel',
];
const STATE = ['+get', '+set', '+del', '+exists'];
const PLATFORM_RIGHTS = [...BOTH, ...STATE, '+time', '+xtrim', '+xread'];
const AGENT_RIGHTS = [
  ...[
    ...BOTH,
    ...STATE,
    '+pttl',
    '+pexpire',
    '+xgroup',
    '+xinfo',
    '+xreadgroup',
    '+xautoclaim',
    '+xclaim',
    '+xpending',
  ],
  ...['+client|id', '+client|unblock'],
];
