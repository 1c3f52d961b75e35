/** Reaches made from within reaches (R10): what they inherit, what is refused, and that a tree ends together. */
import { randomUUID } from 'node:crypto';
import { ReachAgent, type AgentHandler } from '../../src/sdk/agent';
import { type ReachError } from '../../src/protocol/reach-error';
import { Api } from '../support/api';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import type { Seen } from '../support/scripted-agent';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { temporalAddress } from '../support/temporal';
import { waitFor } from '../support/wait-for';

const API_KEY = 'the-operators-key';
let gateway: TestGateway;
/** Nobody's key: what an agent without one can do. */
let bare: Api;
let outer: ScriptedHttpAgent;
let inner: ScriptedHttpAgent;
const agents: ReachAgent[] = [];

beforeAll(async () => {
  gateway = await startGateway({ apiKey: API_KEY, config: { breaker: { enabled: false }, nesting: { max_depth: 4 } } });
  bare = new Api(gateway.url);
  outer = await startHttpAgent(gateway.api, { name: 'outer', endpoint: { max_retry: 0, timeout_ms: 60_000 } });
  inner = await startHttpAgent(gateway.api, { name: 'inner', endpoint: { max_retry: 10, timeout_ms: 60_000 } });
});
afterAll(async () => {
  await Promise.all([...agents.map((agent) => agent.stop()), outer.close(), inner.close(), bare.close()]);
  await gateway.close();
});
beforeEach(() => {
  outer.plays({ do: 'hang' });
  inner.plays();
});

interface Held {
  reachId: string;
  seen: Seen;
  token: string;
}

/** A reach whose agent is working on it, for ever. */
async function held(more: object = {}): Promise<Held> {
  const key = randomUUID();
  const receipt = await gateway.api.reach(
    { ability: outer.ability, payload: { case: key }, timeout_ms: 40_000, ...more },
    { prefer: 'respond-async' },
  );
  expect(receipt.status).toBe(202);
  const seen = await waitFor('the agent to be called', () => outer.journalOf(key)[0]);
  return { reachId: receipt.body.reach_id as string, seen, token: seen.headers['x-reach-token']! };
}

const nested = ({ token }: Pick<Held, 'token'>, envelope: object = {}, headers: Record<string, string> = {}) =>
  bare.reach({ ability: inner.ability, ...envelope }, { 'x-reach-token': token, ...headers });
const withToken = ({ token }: Pick<Held, 'token'>) => ({ headers: { 'x-reach-token': token } });
const end = ({ reachId }: Held) => gateway.api.post(`/v1/reaches/${reachId}:cancel`);

describe('a nested reach', () => {
  it('needs no key but the token, and inherits deadline, context, group, trace and name', async () => {
    const parent = await held({ context_id: 'ctx-1', group: 'beta' });
    const answer = await nested(parent, { timeout_ms: 600_000 });
    expect(answer.status).toBe(200);
    const { call } = inner.journal[0]!;
    expect(call).toMatchObject({ source_agent: 'outer', context_id: 'ctx-1', group: 'beta' });
    // Half of what the parent's attempt had left, which was half of 40 s.
    expect(call.deadline_ms).toBeLessThanOrEqual(10_000);
    expect(call.deadline_ms).toBeGreaterThan(5_000);
    const above = await gateway.api.get(`/v1/reaches/${parent.reachId}`);
    expect(answer.body.trace_id).toBe(above.body.trace_id);
    await end(parent);
  });

  it('takes the deadline that its agent has by its own clock', async () => {
    const parent = await held();
    await nested(parent, {}, { 'x-reach-deadline-ms': '8000' });
    expect(inner.journal[0]!.call.deadline_ms).toBeLessThanOrEqual(4_000);
    const refused = await nested(parent, {}, { 'x-reach-deadline-ms': '0' });
    expectProblem(refused, 'deadline_exceeded');
    expectProblem(await nested(parent, {}, { 'x-reach-deadline-ms': 'soon' }), 'invalid_request');
    await end(parent);
  });

  it('may use what the reach has left once its agent has accepted', async () => {
    outer.plays({ do: 'accept' });
    const parent = await held({ timeout_ms: 40_000 });
    await waitFor('its acknowledgement', async () => {
      const { body } = await gateway.api.get(`/v1/reaches/${parent.reachId}`);
      return body.stage === 'agent_accepted';
    });
    const { body } = await nested(parent, { timeout_ms: 600_000 }, { prefer: 'respond-async' });
    expect(body.expires_in_ms).toBeGreaterThan(30_000);
    expect(body.expires_in_ms).toBeLessThanOrEqual(40_000);
    await end(parent);
  });

  it('stays in the context of its call, and signals no workflow of the agent’s choice', async () => {
    const parent = await held({ context_id: 'mine' });
    const away = expectProblem(await nested(parent, { context_id: 'yours' }), 'forbidden');
    expect(away.errors).toEqual([expect.objectContaining({ pointer: '/context_id' })]);
    const signalled = await nested(parent, { reply_to: { workflow_id: 'somebody', signal: 'go' } });
    expect(expectProblem(signalled, 'forbidden').errors).toEqual([
      expect.objectContaining({ pointer: '/reply_to/workflow_id' }),
    ]);
    expect(inner.journal).toHaveLength(0);
    const event = { mode: 'event', topic: 'orders.created', payload: {} };
    const sent = (more: object) => bare.post('/v1/reaches', { ...event, ...more }, withToken(parent));
    const carried = expectProblem(await sent({ context_id: 'yours' }), 'forbidden');
    expect(carried.errors).toEqual([expect.objectContaining({ pointer: '/context_id' })]);
    expect((await sent({ context_id: 'mine' })).status).toBe(202);
    await end(parent);
  });

  it('uploads payloads while its call is worked on, in a room of its own', async () => {
    const parent = await held();
    const content = Buffer.from('{"from":"a call"}');
    const upload = { id: randomUUID(), sequence: 0, content };
    const put = () => bare.raw('PUT', `/v1/payloads/${upload.id}/chunks/0`, content, withToken(parent));
    expect((await put()).status).toBe(200);
    expectProblem(await gateway.api.get(`/v1/payloads/${upload.id}`), 'not_found');
    await end(parent);
    await gateway.api.ended(parent.reachId);
    expectProblem(await put(), 'reach_terminal');
  });

  it('may not be sent in another name', async () => {
    const parent = await held();
    const problem = expectProblem(await nested(parent, { source_agent: 'somebody' }), 'forbidden');
    expect(problem.errors).toEqual([expect.objectContaining({ pointer: '/source_agent' })]);
    await end(parent);
  });

  it('shows in the trace of its parent, and in lists by it', async () => {
    const parent = await held();
    const { body } = await nested(parent);
    const trace = await waitFor('the parent to be over', async () => {
      await end(parent);
      const { body } = await gateway.api.get(`/v1/reaches/${parent.reachId}/trace`);
      return body.status === 'cancelled' ? body : undefined;
    });
    const hop = trace.hops.find((one: { name: string }) => one.name === 'invoke');
    expect(hop.children).toEqual([body.reach_id]);
    const listed = await waitFor('the list to know', async () => {
      const { body } = await gateway.api.get(`/v1/reaches?parent=${parent.reachId}`);
      return body.items.length > 0 ? body.items : undefined;
    });
    expect(listed).toEqual([expect.objectContaining({ reach_id: body.reach_id, source_agent: 'outer' })]);
  });
});

describe('the key of a nested reach', () => {
  it('is the same only within the call that it is made for, and only its token opens what it made', async () => {
    const [parent, other] = [await held(), await held()];
    const envelope = { idempotency_key: randomUUID(), payload: { n: 1 } };
    const first = await nested(parent, envelope);
    const again = await nested(parent, envelope);
    const elsewhere = await nested(other, envelope);
    expect([first.status, again.status, elsewhere.status]).toEqual([200, 200, 200]);
    expect(again.body).toMatchObject({ reach_id: first.body.reach_id, replayed: true });
    expect(elsewhere.body).toMatchObject({ replayed: false });
    expect(elsewhere.body.reach_id).not.toBe(first.body.reach_id);
    const read = ({ token }: Held) =>
      bare.get(`/v1/reaches/${elsewhere.body.reach_id}`, { headers: { 'x-reach-token': token } });
    expect((await read(other)).status).toBe(200);
    expectProblem(await read(parent), 'not_found');
    await Promise.all([end(parent), end(other)]);
  });

  it('uses up none of a caller’s', async () => {
    const parent = await held();
    const idempotency_key = randomUUID();
    const made = await nested(parent, { idempotency_key, payload: { n: 1 } });
    const asked = await gateway.api.reach({ ability: inner.ability, idempotency_key, payload: { n: 2 } });
    expect(asked).toMatchObject({ status: 200, body: { replayed: false } });
    expect(asked.body.reach_id).not.toBe(made.body.reach_id);
    await end(parent);
  });
});

describe('refused before anybody is asked', () => {
  it('a loop, for it names an agent that is waiting', async () => {
    const parent = await held();
    const problem = expectProblem(await nested(parent, { ability: outer.ability }), 'delegation_loop');
    expect(problem.detail).toContain(`outer/${outer.ability}`);
    expect(outer.journal).toHaveLength(1);
    expectProblem(await nested(parent, { target_agent: 'outer', ability: undefined }), 'delegation_loop');
    await end(parent);
  });

  it('a token that was tampered with, of another reach, or without one', async () => {
    const parent = await held();
    expectProblem(await nested({ token: `${parent.token}x` }), 'unauthorized');
    expectProblem(await nested({ token: '' }), 'unauthorized');
    expectProblem(await bare.reach({ ability: inner.ability }), 'unauthorized');
    expect(inner.journal).toHaveLength(0);
    await end(parent);
  });

  it('a parent that is over: nothing is reached, published, read or written', async () => {
    const parent = await held({ context_id: 'ctx-over' });
    await end(parent);
    await gateway.api.ended(parent.reachId);
    expectProblem(await nested(parent), 'reach_terminal');
    expect(inner.journal).toHaveLength(0);
    const event = { mode: 'event', topic: 'a.b', payload: {}, ability: undefined };
    expectProblem(await nested(parent, event), 'reach_terminal');
    const context = await bare.get('/v1/contexts/ctx-over', { headers: { 'x-reach-token': parent.token } });
    expectProblem(context, 'reach_terminal');
  });
});

describe('a token opens', () => {
  it('the reaches that were made with it, and no others', async () => {
    const parent = await held();
    const other = await held();
    const child = (await nested(parent)).body.reach_id as string;
    const read = (id: string) => bare.get(`/v1/reaches/${id}`, { headers: { 'x-reach-token': parent.token } });
    expect((await read(child)).status).toBe(200);
    expect((await read(parent.reachId)).status).toBe(200);
    const foreign = await read(other.reachId);
    const unknown = await read(`r-${'a'.repeat(32)}`);
    expectProblem(foreign, 'not_found');
    expect(foreign.body.detail).toBe(unknown.body.detail);
    const cancel = await bare.post(`/v1/reaches/${other.reachId}:cancel`, undefined, {
      headers: { 'x-reach-token': parent.token },
    });
    expectProblem(cancel, 'not_found');
    await Promise.all([end(parent), end(other)]);
  });

  it.each([
    ['GET', '/v1/reaches'],
    ['GET', '/v1/agents'],
    ['POST', '/v1/agents'],
    ['GET', '/v1/dead-letters'],
    ['POST', '/v1/dead-letters:redrive'],
    ['GET', '/v1/breakers'],
  ] as const)('nothing else: %s %s', async (method, path) => {
    const parent = await held();
    const answer = await bare.raw(method, path, method === 'POST' ? '{}' : undefined, {
      headers: { 'x-reach-token': parent.token, 'content-type': 'application/json' },
    });
    expectProblem(answer, 'unauthorized');
    await end(parent);
  });
});

describe('cancelling a parent', () => {
  it('cancels its children, and theirs, down to the agents that work', async () => {
    inner.plays({ do: 'hang' });
    const parent = await held();
    const child = await bare.reach(
      { ability: inner.ability },
      { 'x-reach-token': parent.token, prefer: 'respond-async' },
    );
    const working = await waitFor('the inner agent to be called', () => inner.journal[0]);
    const deep = await startHttpAgent(gateway.api, { name: 'deep', endpoint: { timeout_ms: 60_000 } });
    deep.plays({ do: 'hang' });
    const grandchild = await bare.reach(
      { ability: deep.ability },
      { 'x-reach-token': working.headers['x-reach-token']!, prefer: 'respond-async' },
    );
    const deepest = await waitFor('the deepest agent to be called', () => deep.journal[0]);
    await end(parent);
    const ends = await Promise.all(
      [parent.reachId, child.body.reach_id, grandchild.body.reach_id].map((id) => gateway.api.ended(id)),
    );
    expect(ends.map(({ body }) => body.status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    await waitFor('the agents to be told', () => deepest.stopped.aborted && working.stopped.aborted);
    await deep.close();
  });

  it('cancels them as well when it was cancelled in Temporal itself', async () => {
    inner.plays({ do: 'hang' });
    const parent = await held();
    const child = await bare.reach(
      { ability: inner.ability },
      { 'x-reach-token': parent.token, prefer: 'respond-async' },
    );
    const { Connection, Client } = await import('@temporalio/client');
    const connection = await Connection.connect({ address: temporalAddress() });
    await new Client({ connection }).workflow.getHandle(parent.reachId).cancel();
    await connection.close();
    expect((await gateway.api.ended(child.body.reach_id)).body.status).toBe('cancelled');
  });
});

describe('the retries of a tree', () => {
  it('are those of its first reach, however many children it has', async () => {
    inner.plays({ do: 'fail', message: 'not yet' });
    const parent = await held({ max_total_retries: 3 });
    const ends = [];
    for (let n = 0; n < 3; n += 1) ends.push(await nested(parent, { payload: { n } }));
    // 3 children make 3 first attempts and 3 retries, all together.
    expect(inner.journal).toHaveLength(6);
    expect(ends.map(({ body }) => body.attempts.length).sort()).toEqual([1, 1, 4]);
    await end(parent);
  });

  it('are never more when children fail side by side', async () => {
    inner.plays({ do: 'fail', message: 'not yet', afterMs: 50 });
    const parent = await held({ max_total_retries: 4 });
    const ends = await Promise.all(Array.from({ length: 5 }, (_, n) => nested(parent, { payload: { n } })));
    expect(inner.journal.length).toBeLessThanOrEqual(5 + 4);
    const codes = ends.map(({ body }) => body.code as string);
    expect(codes.every((code) => ['agent_error', 'retry_budget_exhausted'].includes(code))).toBe(true);
    await end(parent);
  });
});

describe('agents of the SDK', () => {
  async function agent(name: string, protocol: 'http' | 'worker', handler: AgentHandler): Promise<void> {
    const descriptor = {
      name,
      version: '1.0.0',
      capabilities: [`${name}.work`],
      endpoint: { protocol, timeout_ms: 30_000 },
    };
    const one = new ReachAgent({
      descriptor,
      gateway: gateway.url,
      apiKey: API_KEY,
      handlers: { [`${name}.work`]: handler },
      log: { debug() {}, info() {}, warn() {}, error() {} },
    });
    agents.push(one);
    await one.start();
  }

  it.each(['http', 'worker'] as const)('reach others with what is left of their call (%s)', async (protocol) => {
    let left = 0;
    const name = `asks_${protocol}_${randomUUID().slice(0, 8)}`;
    await agent(name, protocol, async (payload, context) => {
      left = context.deadlineMs;
      const { output } = await context.reach.invokeAbility(inner.ability, payload);
      return { heard: output };
    });
    const answer = await gateway.api.reach({
      target_agent: name,
      payload: { case: protocol },
      context_id: 'ctx-9',
      timeout_ms: 20_000,
    });
    expect(answer.body).toMatchObject({ status: 'completed', output: { heard: { answer: 'hello' } } });
    const [seen] = inner.journalOf(protocol);
    expect(seen!.call).toMatchObject({ source_agent: name, context_id: 'ctx-9' });
    expect(seen!.call.deadline_ms).toBeLessThanOrEqual(left / 2);
    const trace = await gateway.api.get(`/v1/reaches/${answer.body.reach_id}/trace`);
    expect(trace.body.hops.flatMap((hop: { children?: string[] }) => hop.children ?? [])).toEqual([
      seen!.call.reach_id,
    ]);
  });

  it.each(['http', 'worker'] as const)('are stopped from calling each other for ever (%s)', async (protocol) => {
    const ring = randomUUID().slice(0, 8);
    const names = Array.from({ length: 6 }, (_, n) => `ring${n}_${protocol}_${ring}`);
    let calls = 0;
    for (const [n, name] of names.entries()) {
      await agent(name, protocol, async (payload, context) => {
        calls += 1;
        const next = names[(n + 1) % names.length];
        return context.reach.invokeAbility(`${next}.work`, payload).then(
          ({ output }) => output,
          (caught: unknown) => ({ refused: (caught as ReachError).code, at: name, detail: (caught as Error).message }),
        );
      });
    }
    const { body } = await gateway.api.reach({ ability: `${names[0]}.work`, timeout_ms: 120_000 });
    expect(body.output).toMatchObject({ refused: 'delegation_loop', at: names[3] });
    expect(body.output.detail).toContain('4 deep');
    expect(calls).toBe(4);
  });
});
