import { once } from 'node:events';
import { agentTaskQueue, type WorkerCall } from '../../src/protocol/worker-wire';
import {
  AgentBusy,
  AgentRejected,
  ReachAgent,
  type AgentContext,
  type AgentHandler,
  type AgentOptions,
} from '../../src/sdk/agent';
import { call, echoDescriptor, quietLog, startRegistry, type ScriptedRegistry } from './scripted-registry';
import type { ScriptedGateway } from './scripted-gateway';
import { runWorkerWorkflow } from './worker-stage';
import type { attempt, Ending } from './worker-workflow';

/** A Temporal server as the suite's setup starts it. */
const address = process.env.TEST_TEMPORAL_ADDRESS ?? '127.0.0.1:7233';
const suffix = `${process.pid}-${performance.timeOrigin}`.replace('.', '-');
const workflowQueue = `sdk-test-${suffix}`;

const client = runWorkerWorkflow(address, workflowQueue);
let gateway: ScriptedGateway;
let registry: ScriptedRegistry;
let agent: ReachAgent;
let nth = 0;

afterEach(async () => {
  await agent.stop();
  await gateway.close();
});

async function serve(handler: AgentHandler, options: Partial<AgentOptions> = {}) {
  ({ gateway, registry } = await startRegistry());
  nth += 1;
  const queue = `agent-${suffix}-${nth}`;
  registry.worker = { address, namespace: 'default', task_queue: queue };
  agent = new ReachAgent({
    descriptor: echoDescriptor('worker'),
    gateway: gateway.url,
    handlers: { echo: handler },
    instanceId: `echo-${nth}`,
    log: quietLog(),
    heartbeatIntervalMs: 200,
    ...options,
  });
  await agent.start();
  return queue;
}

function begin(queue: string, more: Partial<WorkerCall> = {}, startToCloseMs = 10_000) {
  const input = { ...call(), traceparent: '00-aa-bb-01', ...more } as WorkerCall;
  return client().workflow.start<typeof attempt>('attempt', {
    workflowId: `attempt-${queue}-${(nth += 1)}`,
    taskQueue: workflowQueue,
    args: [input, queue, startToCloseMs],
  });
}

const ask = async (queue: string, more: Partial<WorkerCall> = {}): Promise<Ending> =>
  (await begin(queue, more)).result();

it('names the queue after agent and version unless the descriptor does', () => {
  expect(agentTaskQueue({ name: 'echo', version: '1.0.0' })).toBe('agent-reach.echo@1.0.0');
  expect(agentTaskQueue({ name: 'echo', version: '1.0.0', taskQueue: 'mine' })).toBe('mine');
  agent = { stop: () => Promise.resolve() } as never;
  gateway = { close: () => Promise.resolve() } as never;
});

it('answers with its output, its instance and when it took the call', async () => {
  const seen: AgentContext[] = [];
  const queue = await serve((payload, context) => {
    seen.push(context);
    return { text: payload.text };
  });
  const { answer } = await ask(queue, { attempt: 3 });
  expect(answer).toEqual({
    output: { text: '你好' },
    instance: agent.instanceId,
    received_at: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect(seen[0]).toMatchObject({ reachId: 'r-1', attempt: 3, traceparent: '00-aa-bb-01', idempotencyKey: 'k-1' });
  expect(gateway.requests('PUT', /./)[0]?.json).toEqual({ version: '1.0.0', ttl_sec: 30, max_concurrency: 2 });
});

it.each([
  [
    'a refusal',
    () => new AgentRejected('no such ticket'),
    { type: 'agent_rejected', nonRetryable: true, message: 'no such ticket' },
  ],
  [
    'a crash',
    () => new TypeError('x is undefined'),
    { type: 'agent_error', nonRetryable: false, message: 'x is undefined' },
  ],
  [
    'too much to do',
    () => new AgentBusy('queue is full', 1_500),
    { type: 'agent_busy', nonRetryable: false, message: 'queue is full' },
  ],
])('tells the workflow of %s by code, without a stack', async (_, error, expected) => {
  const queue = await serve(() => {
    throw error();
  });
  const ending = await ask(queue);
  expect(ending).toMatchObject({
    kind: 'failure',
    ...expected,
    details: [{ instance: agent.instanceId, received_at: expect.any(String) }],
  });
  expect(ending.stack ?? '').toBe('');
});

it.each([
  ['an ability it lacks', { ability: 'sing' }, 'agent_rejected'],
  ['what is no call', { payload: 'text' as never }, 'agent_rejected'],
])('refuses %s for good', async (_, more, type) => {
  const queue = await serve(() => ({}));
  expect(await ask(queue, more)).toMatchObject({ type, nonRetryable: true });
});

it('never answers with what is no JSON object', async () => {
  const queue = await serve(() => ({ score: Infinity }));
  expect(await ask(queue)).toMatchObject({ type: 'agent_protocol_error', nonRetryable: true });
});

it('aborts the handler when the reach is cancelled, by the heartbeats', async () => {
  let reason: unknown;
  const { promise, resolve } = deferred();
  const queue = await serve(async (_payload, { signal }) => {
    resolve();
    await once(signal, 'abort');
    reason = signal.reason;
    throw new Error('gave up');
  });
  const handle = await begin(queue, { deadline_ms: 60_000 }, 60_000);
  await promise;
  const before = performance.now();
  await handle.cancel();
  expect(await handle.result()).toEqual({ kind: 'cancelled' });
  expect(reason).toMatchObject({ name: 'AbortError', reason: 'cancelled' });
  expect(performance.now() - before).toBeLessThan(20_000);
});

it('aborts the handler at its deadline and says so', async () => {
  const queue = await serve(async (_payload, { signal }) => {
    await once(signal, 'abort');
    throw signal.reason;
  });
  expect(await ask(queue, { deadline_ms: 100 })).toMatchObject({
    kind: 'failure',
    type: 'agent_timeout',
    nonRetryable: false,
  });
});

it('leaves proof that the call arrived when the handler outlives the activity', async () => {
  const { promise, resolve } = deferred();
  const queue = await serve(async () => {
    await promise;
    return {};
  });
  const ending = await (await begin(queue, {}, 2_500)).result();
  expect(ending).toMatchObject({
    kind: 'timeout',
    details: [{ instance: agent.instanceId, received_at: expect.any(String) }],
  });
  resolve();
});

it('takes no more calls at once than max_concurrency', async () => {
  let now = 0;
  let most = 0;
  let pair = deferred();
  const queue = await serve(
    async () => {
      const mine = pair;
      most = Math.max(most, (now += 1));
      if (now === 2) {
        mine.resolve();
        pair = deferred();
      }
      await mine.promise; // nobody leaves before two are in
      await new Promise((resolve) => setTimeout(resolve, 40));
      now -= 1;
      return {};
    },
    { maxConcurrency: 2 },
  );
  const endings = await Promise.all(Array.from({ length: 8 }, (_, n) => ask(queue, { idempotency_key: `k-${n}` })));
  expect(endings.every(({ answer }) => answer !== undefined)).toBe(true);
  expect(most).toBe(2);
});

it('finishes what it has when it drains, then leaves', async () => {
  const { promise, resolve } = deferred();
  const begun = deferred();
  const queue = await serve(async () => {
    begun.resolve();
    await promise;
    return { done: true };
  });
  const handle = await begin(queue);
  await begun.promise;
  const drained = agent.drain();
  await gateway.until(() => gateway.requests('POST', /heartbeat$/).some((seen) => seen.json?.status === 'draining'));
  expect(gateway.requests('DELETE', /./)).toHaveLength(0);
  resolve();
  expect((await handle.result()).answer?.output).toEqual({ done: true });
  await drained;
  expect(gateway.requests('DELETE', /./)).toHaveLength(1);
});

it('reports a call it had to drop as passing, not as cancelled', async () => {
  const begun = deferred();
  const queue = await serve(
    async (_payload, { signal }) => {
      begun.resolve();
      await once(signal, 'abort');
      throw signal.reason;
    },
    { drainTimeoutMs: 200 },
  );
  const handle = await begin(queue);
  await begun.promise;
  await agent.drain();
  expect(await handle.result()).toMatchObject({ kind: 'failure', type: 'agent_unavailable', nonRetryable: false });
});

it.each<[what: string, more: Partial<WorkerCall>, transfer: string]>([
  ['a payload that it fetches', { payload_ref: `sha256:${'a'.repeat(64)}:300000` }, 'GET'],
  ['an answer that it uploads', {}, 'PUT'],
])('reports %s and has to drop as passing', async (_, more, transfer) => {
  const queue = await serve(() => ({ text: 'x'.repeat(300_000) }), { drainTimeoutMs: 200, deduplication: 'off' });
  gateway.script = (seen) => (seen.path.startsWith('/v1/payloads/') ? 'hang' : registry.answer(seen));
  const handle = await begin(queue, more);
  await gateway.until(() => gateway.requests(transfer, /^\/v1\/payloads\//).length > 0);
  await agent.drain();
  expect(await handle.result()).toMatchObject({ kind: 'failure', type: 'agent_unavailable', nonRetryable: false });
});

it('leaves no worker behind when it is told to leave while it starts', async () => {
  ({ gateway, registry } = await startRegistry());
  const queue = `agent-${suffix}-${(nth += 1)}`;
  registry.worker = { address, namespace: 'default', task_queue: queue };
  const handler = jest.fn(() => ({}));
  agent = new ReachAgent({
    descriptor: echoDescriptor('worker'),
    gateway: gateway.url,
    handlers: { echo: handler },
    log: quietLog(),
  });
  agent.once('registered', () => void agent.drain());
  await expect(agent.start()).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('while it was starting'),
  });
  expect(agent.registration).toBe('stopped');
  expect(gateway.requests('DELETE', /./)).toHaveLength(1);
  expect(await (await begin(queue, {}, 100)).result()).toMatchObject({ kind: 'timeout' });
  expect(handler).not.toHaveBeenCalled();
});

it('follows Temporal to the place that a new registration names, and leaves the old one', async () => {
  const old = await serve((payload) => ({ text: payload.text }));
  expect((await ask(old)).answer).toBeDefined();
  const next = `${old}-moved`;
  const again = new Promise((resolve) => agent.once('re-registered', resolve));
  registry.worker = { address, namespace: 'default', task_queue: next };
  registry.expireAll();
  await again;
  expect((await ask(next)).answer?.output).toEqual({ text: '你好' });
  expect(agent.registration).toBe('registered');
});

it('says which Temporal it cannot reach, and deregisters again', async () => {
  ({ gateway, registry } = await startRegistry());
  agent = new ReachAgent({
    descriptor: echoDescriptor('worker'),
    gateway: gateway.url,
    handlers: { echo: () => ({}) },
    log: quietLog(),
    worker: { address: '127.0.0.1:1' },
  });
  await expect(agent.start()).rejects.toMatchObject({
    code: 'engine_unavailable',
    message: expect.stringContaining('127.0.0.1:1'),
  });
  expect(gateway.requests('DELETE', /./)).toHaveLength(1);
});

function deferred() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve: () => resolve() };
}
