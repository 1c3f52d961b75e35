import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import {
  AgentBusy,
  AgentFailed,
  AgentRejected,
  ReachAgent,
  type AgentContext,
  type AgentHandler,
  type AgentOptions,
} from '../../src/sdk/agent';
import type { JsonObject } from '../../src/protocol/shapes';
import { call, echoDescriptor, quietLog, startRegistry } from './scripted-registry';
import type { ScriptedGateway } from './scripted-gateway';

let gateway: ScriptedGateway;
let agent: ReachAgent;
let log: ReturnType<typeof quietLog>;

async function serve(handler: AgentHandler, options: Partial<AgentOptions> = {}) {
  ({ gateway } = await startRegistry());
  log = quietLog();
  agent = new ReachAgent({
    descriptor: echoDescriptor('http'),
    gateway: gateway.url,
    handlers: { echo: handler },
    log,
    ...options,
  });
  await agent.start();
}

afterEach(async () => {
  await agent?.stop();
  await gateway?.close();
});

async function post(
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: JsonObject; headers: Headers }> {
  const response = await fetch(agent.url ?? '', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as JsonObject, headers: response.headers };
}

/** A handler that waits to be let go, and the promise of its having begun. */
function gate() {
  let begin: (context: AgentContext) => void;
  let release: () => void;
  const begun = new Promise<AgentContext>((resolve) => (begin = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  const handler: AgentHandler = async (_payload, context) => {
    begin(context);
    await released;
    return { done: true };
  };
  return { handler, begun, release: () => release() };
}

/** A value that contains itself. */
const loop: { self?: object } = {};
loop.self = loop;

describe('calls', () => {
  it('hands the handler its payload and what surrounds it', async () => {
    const seen: AgentContext[] = [];
    await serve((payload, context) => {
      seen.push(context);
      return { text: payload.text, left: context.deadlineMs };
    });
    const { status, body } = await post(call({ attempt: 2, bypass: true }), { traceparent: '00-aa-bb-01' });
    expect(status).toBe(200);
    expect(body.text).toBe('你好');
    expect(Number(body.left)).toBeGreaterThan(1_000);
    expect(Number(body.left)).toBeLessThanOrEqual(5_000);
    expect(seen[0]).toMatchObject({
      reachId: 'r-1',
      messageId: 'm-1',
      ability: 'echo',
      attempt: 2,
      idempotencyKey: 'k-1',
      sourceAgent: 'tester',
      group: 'default',
      bypass: true,
      traceparent: '00-aa-bb-01',
      contextId: null,
    });
  });

  it.each<[string, () => unknown, [string, number, string, string | null]]>([
    ['a refusal', () => new AgentRejected('no such ticket'), ['agent_rejected', 422, 'no such ticket', null]],
    ['a crash', () => new TypeError('x is undefined'), ['agent_error', 500, 'x is undefined', null]],
    ['a failure with advice', () => new AgentFailed('restarting', 1_500), ['agent_error', 500, 'restarting', '2']],
    ['too much to do', () => new AgentBusy('queue is full', 3_000), ['agent_busy', 429, 'queue is full', '3']],
    ['a thrown string', () => 'oops', ['agent_error', 500, 'oops', null]],
  ])('answers %s with the right status and no stack', async (_, error, expected) => {
    await serve(() => {
      throw error();
    });
    const { body, status, headers } = await post(call());
    expect([body.code, status, body.detail, headers.get('retry-after')]).toEqual(expected);
    expect(JSON.stringify(body)).not.toMatch(/\.ts|node_modules|stack/);
    const logged = log.lines.map(({ fields }) => fields);
    expect(logged).toContainEqual(expect.objectContaining({ code: body.code, reach_id: 'r-1' }));
  });

  it.each([
    ['an array', [1]],
    ['nothing', undefined],
    ['a number that JSON lacks', { score: Number.NaN }],
    ['a loop', loop],
    ['a bigint', { n: 1n }],
  ])('never passes on %s as an answer', async (_, value) => {
    await serve(() => value as never);
    const { status, body } = await post(call());
    expect(status).toBe(501);
    expect(body.code).toBe('agent_protocol_error');
  });

  it('takes a payload that is as deep as one may be', async () => {
    await serve((payload) => ({ depth: JSON.stringify(payload).split('[').length }));
    const payload = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    const body = (depth: number) =>
      JSON.stringify(call()).replace(/"payload":\{[^}]*\}/, `"payload":${payload(depth)}`);
    expect(await post(body(64))).toMatchObject({ status: 200, body: { depth: 64 } });
    expect(await post(body(65))).toMatchObject({ status: 400, body: { code: 'input_too_deep' } });
  });

  it('refuses to send an answer over 64 MiB', async () => {
    await serve(() => ({ text: 'x'.repeat(67_108_864) }));
    expect((await post(call())).body.code).toBe('agent_response_too_large');
  });

  it.each([
    ['another ability', call({ ability: 'sing' }), {}, 422],
    ['an inherited name', call({ ability: 'constructor' }), {}, 422],
    ['no call', { hello: 1 }, {}, 422],
    ['broken JSON', '{"a":', {}, 400],
    ['a duplicate key', '{"a":1,"a":2}', {}, 400],
    ['a form', 'a=1', { 'content-type': 'text/plain' }, 415],
    ['a huge body', `{"x":"${'x'.repeat(68_200_000)}"}`, {}, 413],
  ])('turns down %s', async (_, body, headers, status) => {
    await serve(() => ({}));
    expect((await post(body, headers)).status).toBe(status);
    expect(agent.inFlight).toBe(0);
  });

  it('asks for the token when it has one', async () => {
    await serve(() => ({ ok: true }), { http: { token: 's3cret' } });
    expect((await post(call())).status).toBe(401);
    expect((await post(call(), { authorization: 'Bearer s3creT' })).status).toBe(401);
    expect((await post(call(), { authorization: 'Bearer s3cret' })).status).toBe(200);
  });

  it('tells its health on GET /healthz and serves nothing else', async () => {
    await serve(() => ({}));
    const health = await fetch(`${agent.url}/healthz`);
    expect(await health.json()).toEqual({ status: 'ready', in_flight: 0, load: 0 });
    expect((await fetch(`${agent.url}/secrets`)).status).toBe(404);
    expect((await fetch(`${agent.url}/`)).status).toBe(405);
  });
});

describe('limits', () => {
  it('answers 429 over max_concurrency without beginning, and 200 again afterwards', async () => {
    const { handler, begun, release } = gate();
    await serve(handler, { maxConcurrency: 1 });
    const first = post(call());
    await begun;
    const second = await post(call());
    expect(second.status).toBe(429);
    expect(second.body).toMatchObject({ code: 'agent_busy', detail: expect.stringContaining('not begun') });
    release();
    expect((await first).status).toBe(200);
    expect((await post(call())).status).toBe(200);
  });

  it('aborts the handler at its deadline and says so', async () => {
    await serve(async (_payload, { signal }) => {
      await once(signal, 'abort');
      throw signal.reason;
    });
    const { status, body } = await post(call({ deadline_ms: 50 }));
    expect([status, body.code]).toEqual([504, 'agent_timeout']);
  });

  it('answers at the deadline for a handler that does not listen, and still counts it', async () => {
    const { handler, release } = gate();
    await serve(handler, { maxConcurrency: 1 });
    const { status, body } = await post(call({ deadline_ms: 1_000 }));
    expect([status, body.detail]).toEqual([504, expect.stringContaining('ignores ctx.signal')]);
    expect(agent.inFlight).toBe(1);
    expect((await post(call())).status).toBe(429);
    release();
    // Its result is recorded even though nobody waits for it any more.
    await gateway.until(() => gateway.requests('POST', /:complete$/).length === 1);
    while (agent.inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('aborts the handler when the caller hangs up', async () => {
    let reason: Promise<unknown> | undefined;
    const { promise, resolve } = deferred();
    await serve(async (_payload, { signal }) => {
      reason = once(signal, 'abort').then(() => signal.reason);
      resolve();
      await reason;
      return {};
    });
    const request = httpRequest(agent.url ?? '', { method: 'POST', headers: { 'content-type': 'application/json' } });
    request.on('error', () => undefined);
    request.end(JSON.stringify(call()));
    await promise;
    request.destroy();
    await expect(reason).resolves.toMatchObject({ name: 'AbortError', reason: 'cancelled' });
  });
});

describe('leaving', () => {
  it('finishes what it has, takes nothing new, deregisters and stops', async () => {
    const { handler, begun, release } = gate();
    await serve(handler);
    const running = post(call());
    await begun;
    const kept = agent.url ?? '';
    const drained = agent.drain();
    await gateway.until(() => gateway.requests('POST', /heartbeat$/).some((seen) => seen.json?.status === 'draining'));
    expect(gateway.requests('DELETE', /./)).toHaveLength(0);
    release();
    expect((await running).status).toBe(200);
    await drained;
    expect(gateway.requests('DELETE', /./)[0]?.query.get('epoch')).toBe('1');
    expect(agent.registration).toBe('stopped');
    await expect(fetch(kept)).rejects.toThrow();
  });

  it.each([
    ['has just begun to leave', 0],
    ['comes while it waits', 300],
  ])('lets an answer leave that is larger than what a socket takes at once: one that %s', async (_, afterMs) => {
    const { begun, release, handler } = gate();
    const text = 'x'.repeat(8_388_608);
    await serve(async (payload, context) => ({ ...(await handler(payload, context)), text }), {
      deduplication: 'off',
    });
    const headers = { 'content-type': 'application/json' };
    const request = httpRequest(agent.url ?? '', { method: 'POST', headers });
    request.end(JSON.stringify(call()));
    await begun;
    const drained = agent.drain();
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    release();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    // A slow caller: the handler has ended, and most of the answer is still here.
    await new Promise((resolve) => setTimeout(resolve, 500));
    let bytes = 0;
    for await (const part of response as AsyncIterable<Buffer>) bytes += part.length;
    expect(bytes).toBeGreaterThan(text.length);
    await drained;
  });

  it('does not wait for a caller who takes no answer beyond the grace', async () => {
    await serve(() => ({ text: 'x'.repeat(16_777_216) }), { deduplication: 'off', drainTimeoutMs: 100 });
    const request = httpRequest(agent.url ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    request.on('error', () => undefined).end(JSON.stringify(call()));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    const before = performance.now();
    await agent.drain();
    expect(performance.now() - before).toBeLessThan(12_000);
    request.destroy();
  });

  it('aborts what is left when the grace is over', async () => {
    let aborted: unknown;
    const { promise, resolve } = deferred();
    await serve(
      async (_payload, { signal }) => {
        resolve();
        await once(signal, 'abort');
        aborted = signal.reason;
        throw new Error('stopped half-way');
      },
      { drainTimeoutMs: 100 },
    );
    const running = post(call());
    await promise;
    await agent.drain();
    expect(aborted).toMatchObject({ reason: 'shutdown' });
    expect(await running).toMatchObject({ status: 503, body: { code: 'agent_unavailable' } });
  });
});

function deferred() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve: () => resolve() };
}
