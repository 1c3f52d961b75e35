import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import type { DescriptorDraft } from '../../src/protocol/descriptor';
import type { JsonObject } from '../../src/protocol/shapes';
import { ReachAgent, type AgentContext, type AgentLog, type AgentOptions } from '../../src/sdk/agent';
import { redisProgram, startRedis, type RedisServer } from '../contract/redis-server';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { registerDescriptor, registerInstance } from '../support/scripted-agent';
import { waitFor } from '../support/wait-for';
import { BareConsumer } from './bare-consumer';

/** A holder that gives no sign for so long has lost its message, ms. */
const CLAIM_MS = 600;
const quiet = () => undefined;
const silent: AgentLog = { debug: quiet, info: quiet, warn: quiet, error: quiet };

const program = redisProgram();
(program === undefined ? describe.skip : describe)(
  'agents that take calls from a queue (needs redis-server on PATH)',
  () => {
    let gateway: TestGateway;
    let redis: RedisServer;
    let client: Redis;
    const running: { stop(): Promise<void> }[] = [];

    beforeAll(async () => {
      redis = await startRedis(program!);
      client = new Redis(redis.url);
      gateway = await startGateway({ config: { breaker: { enabled: false } } });
    });
    afterEach(() => Promise.all(running.splice(0).map((one) => one.stop())));
    afterAll(async () => {
      await gateway?.close();
      client?.disconnect();
      await redis?.kill();
    });

    const descriptorOf = (name: string, more: object = {}) =>
      ({
        name,
        version: '1.0.0',
        capabilities: [{ name: `${name}.work`, description: `the work of ${name}` }],
        endpoint: { protocol: 'mq', address: redis.url, ack_timeout_ms: CLAIM_MS, max_retry: 1, ...more },
      }) satisfies DescriptorDraft;
    const queueOf = (name: string) => `agent-reach.${name}@1.0.0`;
    const bareConsumer = (name: string) => {
      const one = new BareConsumer(redis.url, queueOf(name), `${name}-crashed`);
      running.push({ stop: () => Promise.resolve(one.close()) });
      return one;
    };

    async function startAgent(
      name: string,
      handler: (payload: JsonObject, context: AgentContext) => Promise<JsonObject> | JsonObject,
      { descriptor = descriptorOf(name), ...more }: Partial<AgentOptions> = {},
    ): Promise<ReachAgent> {
      const handlers = { [`${name}.work`]: handler };
      const agent = new ReachAgent({ gateway: gateway.url, log: silent, handlers, descriptor, ...more });
      running.push(agent);
      await agent.start();
      return agent;
    }

    const reach = (name: string, more: object = {}) =>
      gateway.api.reach({ ability: `${name}.work`, payload: { n: 1 }, timeout_ms: 20_000, ...more });
    /** Everything of an agent's queue that is still in Redis. */
    const leftovers = async (name: string) => [
      await client.xlen(queueOf(name)),
      await client.keys(`${queueOf(name)}:call:*`),
    ];

    it('answer, and the trace tells which instance it was', async () => {
      const agents = await Promise.all(
        ['a', 'b'].map((id) => startAgent('packer', () => ({ by: id }), { instanceId: `packer-${id}` })),
      );
      expect(agents.map(({ registration }) => registration)).toEqual(['registered', 'registered']);
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => reach('packer', { idempotency_key: randomUUID() })),
      );
      for (const { status, body } of answers) {
        expect([status, body.instance]).toEqual([200, `packer-${body.output.by}`]);
        const { body: trace } = await gateway.api.get(`/v1/reaches/${body.reach_id}/trace`);
        expect(trace.hops).toContainEqual(expect.objectContaining({ name: 'invoke', instance: body.instance }));
      }
      await waitFor('an empty queue', async () => (await leftovers('packer'))[0] === 0);
      expect(await leftovers('packer')).toEqual([0, []]);
      const { body } = await gateway.api.get('/v1/agents/packer');
      expect(body.instances.map((one: { host: string; status: string }) => [one.host, one.status])).toEqual([
        [redis.url, 'ready'],
        [redis.url, 'ready'],
      ]);
    });

    it('get what an agent had that was killed before it acknowledged: one attempt, one key, one result', async () => {
      const crashed = bareConsumer('sorter');
      await registerDescriptor(gateway.api, descriptorOf('sorter'));
      await registerInstance(gateway.api, { name: 'sorter', version: '1.0.0', instanceId: 'sorter-crashed' });
      const idempotency_key = randomUUID();
      const answer = reach('sorter', { idempotency_key, timeout_ms: 20_000 });
      const lost = await crashed.next();
      await crashed.take(lost);
      const seen: string[] = [];
      await startAgent(
        'sorter',
        (_payload, { idempotencyKey, attempt }) => {
          seen.push(`${idempotencyKey} ${attempt}`);
          return { sorted: true };
        },
        { instanceId: 'sorter-living' },
      );
      const { status, body } = await answer;
      expect([status, body.attempts, body.instance]).toEqual([200, 1, 'sorter-living']);
      expect(seen).toEqual([`${lost.message.call.idempotency_key} 1`]);
      expect(await crashed.done(lost, { type: 'answer', output: '{"sorted":"again"}' })).toBe('gone');
      expect((await reach('sorter', { idempotency_key })).body).toMatchObject({
        replayed: true,
        output: { sorted: true },
      });
    });

    it('are not given a message that took three of them down', async () => {
      const crashed = bareConsumer('fragile');
      await registerDescriptor(gateway.api, descriptorOf('fragile'));
      await registerInstance(gateway.api, { name: 'fragile', version: '1.0.0', instanceId: 'fragile-crashed' });
      const answer = reach('fragile');
      await crashed.take(await crashed.next());
      for (let again = 0; again < 2; again += 1) {
        const [got] = await crashed.claim(0);
        await crashed.take(got!);
      }
      let calls = 0;
      await startAgent('fragile', () => ({ calls: (calls += 1) }));
      const problem = expectProblem(await answer, 'worker_lost');
      expect([calls, problem.attempts?.length, problem.retryable]).toEqual([0, 1, false]);
      expect((await gateway.api.ended(String(problem.reach_id))).body).toMatchObject({ status: 'dead_lettered' });
    });

    it('never get a second time what was sent at most once', async () => {
      const crashed = bareConsumer('payer');
      await registerDescriptor(gateway.api, descriptorOf('payer', { timeout_ms: 6_000 }));
      await registerInstance(gateway.api, { name: 'payer', version: '1.0.0', instanceId: 'payer-crashed' });
      const answer = reach('payer', { delivery_semantics: 'at_most_once' });
      await crashed.take(await crashed.next());
      let calls = 0;
      const descriptor = descriptorOf('payer', { timeout_ms: 6_000 });
      await startAgent('payer', () => ({ calls: (calls += 1) }), { descriptor });
      const problem = expectProblem(await answer, 'agent_timeout');
      expect(problem).toMatchObject({
        reach_status: 'outcome_unknown',
        attempts: [{ received: 'yes', instance: 'payer-crashed' }],
      });
      expect(calls).toBe(0);
    });

    it('do the work once although their Redis loses everything while they are at it', async () => {
      const keys: string[] = [];
      let release: () => void = quiet;
      const held = new Promise<void>((resolve) => (release = resolve));
      await startAgent('builder', async (_payload, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        await held;
        return { built: keys.length };
      });
      const answer = reach('builder', { timeout_ms: 30_000 });
      await waitFor('the call', () => keys[0]);
      await redis.restart();
      await waitFor('the next delivery', async () => (await client.keys(`${queueOf('builder')}:call:*`))[0]);
      release();
      const { status, body } = await answer;
      expect([status, body.output, body.attempts]).toEqual([200, { built: 1 }, 2]);
      expect(keys).toHaveLength(1);
      expect((await reach('builder')).status).toBe(200);
    });

    it('finish what they have before they leave, and leave nothing to be delivered again', async () => {
      let began: () => void = quiet;
      const begun = new Promise<void>((resolve) => (began = resolve));
      const leaving = await startAgent('leaver', async () => {
        began();
        await sleep(300);
        return { by: 'leaving' };
      });
      const answer = reach('leaver');
      await begun;
      const startedMs = performance.now();
      await leaving.drain();
      expect(performance.now() - startedMs).toBeLessThan(10_000);
      expect((await answer).body).toMatchObject({ status: 'completed', output: { by: 'leaving' }, attempts: 1 });
      expect(await client.xinfo('CONSUMERS', queueOf('leaver'), 'agent-reach')).toEqual([]);
    });

    it('accept long work and deliver its result later', async () => {
      const agent = await startAgent('slow', () => sleep(700, { done: true }), { queue: { acceptAfterMs: 100 } });
      const { body } = await reach('slow');
      expect(body).toMatchObject({ status: 'completed', output: { done: true }, instance: agent.instanceId });
    });

    it('are sent large payloads, and send large answers, by reference', async () => {
      const text = '发票'.repeat(200_000);
      await startAgent('copier', (payload) => payload);
      const { AgentReachClient } = await import('../../src/sdk/client');
      const caller = new AgentReachClient({ url: gateway.url });
      const result = await caller.invoke({ ability: 'copier.work', payload: { text }, timeout_ms: 30_000 });
      expect((result.output as { text: string }).text === text).toBe(true);
      await caller.close();
    });

    it('have no more in hand than they may, however much waits', async () => {
      let [now, most] = [0, 0];
      const descriptor = descriptorOf('narrow', { consumers: 'anonymous', timeout_ms: 15_000 });
      const work = async () => {
        most = Math.max(most, (now += 1));
        await sleep(60);
        now -= 1;
        return {};
      };
      await startAgent('narrow', work, { descriptor, maxConcurrency: 2 });
      const keys = Array.from({ length: 14 }, () => randomUUID());
      const answers = await Promise.all(keys.map((idempotency_key) => reach('narrow', { idempotency_key })));
      expect(answers.map(({ body }) => body.attempts)).toEqual(keys.map(() => 1));
      expect(most).toBe(2);
    });

    it('learn at their start why a Redis does not let them in, or that it is not there', async () => {
      const start = (queue: AgentOptions['queue']) =>
        startAgent('outsider', () => ({}), { queue, startTimeoutMs: 3_000 }).catch((caught: unknown) => caught);
      const refused = await start({ username: 'nobody', password: 's3cret' });
      expect(refused).toMatchObject({ code: 'unauthorized', message: expect.stringContaining('queue.password') });
      expect(inspect(refused, { depth: 10, showHidden: true })).not.toContain('s3cret');
      expect(await start({ address: 'redis://127.0.0.1:1' })).toMatchObject({ code: 'engine_unavailable' });
      expect((await gateway.api.get('/v1/agents/outsider')).status).toBe(404);
    });

    it('may be strangers that speak only Redis', async () => {
      await registerDescriptor(gateway.api, descriptorOf('stranger', { consumers: 'anonymous' }));
      const stranger = bareConsumer('stranger');
      const answer = reach('stranger');
      const got = await stranger.next();
      await stranger.take(got);
      await stranger.done(got, { type: 'answer', output: JSON.stringify({ saw: got.message.call.payload ?? null }) });
      expect((await answer).body).toMatchObject({
        status: 'completed',
        output: { saw: { n: 1 } },
        instance: 'stranger-crashed',
      });
    });

    it('are refused at once when nobody is registered that would take the call', async () => {
      await registerDescriptor(gateway.api, descriptorOf('nobody'));
      expectProblem(await reach('nobody'), 'no_ready_instance');
    });
  },
);
