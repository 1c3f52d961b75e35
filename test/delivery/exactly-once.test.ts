/** R4: what `exactly_once` asks for, and what it keeps. */
import { randomUUID } from 'node:crypto';
import { ReachAgent } from '../../src/sdk/agent';
import { quietLog } from '../sdk/scripted-registry';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({ config: { breaker: { enabled: false } } });
});
afterAll(() => gateway.close());

const exactly = { delivery_semantics: 'exactly_once' };

it('needs a key, and says where', async () => {
  const agent = await startHttpAgent(gateway.api, { name: 'keyless' });
  const problem = expectProblem(await gateway.api.reach({ ability: agent.ability, ...exactly }), 'invalid_request');
  expect(problem.errors).toEqual([expect.objectContaining({ pointer: '/idempotency_key' })]);
  expect(agent.journal).toHaveLength(0);
  await agent.close();
});

it('gives every attempt, and every redrive, a greater fence under one key', async () => {
  const agent = await startHttpAgent(gateway.api, { name: 'fenced', endpoint: { max_retry: 2 } });
  agent.plays({ do: 'fail', message: 'not yet' });
  const key = `fences-${randomUUID()}`;
  const { body } = await gateway.api.reach({ ability: agent.ability, ...exactly, idempotency_key: key });
  expect(body).toMatchObject({ code: 'agent_error' });
  const before = agent.journal.map(({ call }) => call);
  agent.plays({ do: 'answer', output: { answer: 'done' } });
  expect((await gateway.api.post(`/v1/dead-letters/${body.reach_id}:redrive`)).status).toBeLessThan(300);
  await waitFor('the redrive', () => agent.journal[0]);
  const calls = [...before, ...agent.journal.map(({ call }) => call)];
  const fences = calls.map(({ fence }) => fence);
  expect(fences).toEqual(fences.toSorted());
  expect(new Set(fences).size).toBe(4);
  expect(new Set(calls.map(({ idempotency_key }) => idempotency_key))).toEqual(new Set([key]));
  expect((await gateway.api.ended(body.reach_id)).body.status).toBe('completed');
  await agent.close();
});

describe('an old attempt that finishes late', () => {
  const ability = 'overtaken.work';
  const log = quietLog();
  const agents: ReachAgent[] = [];
  let runs = 0;
  let finishFirst: () => void = () => undefined;
  let held: Promise<void>;
  beforeEach(() => {
    finishFirst(); // of a first run that failed
    runs = 0;
    held = new Promise<void>((resolve) => (finishFirst = resolve));
  });

  beforeAll(async () => {
    for (const instanceId of ['a', 'b']) {
      const agent = new ReachAgent({
        descriptor: {
          name: 'overtaken',
          version: '1.0.0',
          capabilities: [{ name: ability, description: 'takes its time' }],
          endpoint: { protocol: 'http', timeout_ms: 3_000 },
        },
        gateway: gateway.url,
        instanceId,
        log,
        handlers: {
          [ability]: async () => {
            runs += 1;
            const run = runs;
            if (run === 1) await held;
            return { run };
          },
        },
      });
      await agent.start();
      agents.push(agent);
    }
    await waitFor(
      'both instances',
      async () => (await gateway.api.get('/v1/agents/overtaken')).body.instances.length === 2,
    );
  });
  afterAll(() => Promise.all(agents.map((agent) => agent.stop())));

  it('cannot put its result over that of the newer one', async () => {
    const envelope = { ability, ...exactly, idempotency_key: `late-${randomUUID()}`, timeout_ms: 30_000 };
    const { status, body } = await gateway.api.reach(envelope);
    expect([status, body.output, body.attempts]).toEqual([200, { run: 2 }, 2]);
    finishFirst();
    await waitFor('the end of the late attempt', () => agents.every(({ inFlight }) => inFlight === 0));
    expect(log.lines.map(({ message }) => message)).toContain(
      'another attempt has taken over; this result was thrown away',
    );
    // The same work under another reach: the one recorded result.
    const other = await gateway.api.reach({ ...envelope, target_agent: 'overtaken' });
    expect([other.body.reach_id === body.reach_id, other.body.output, runs]).toEqual([false, { run: 2 }, 2]);
    expect((await gateway.api.reach(envelope)).body).toMatchObject({ replayed: true, output: { run: 2 } });
  });
});

describe('another agent that could do it', () => {
  const ability = 'shared.work';
  const agents: ScriptedHttpAgent[] = [];

  beforeAll(async () => {
    for (const name of ['one', 'two']) {
      const draft = { name, capability: { name: ability }, endpoint: { max_retry: 0, timeout_ms: 2_000 } };
      agents.push(await startHttpAgent(gateway.api, draft));
    }
  });
  afterAll(() => Promise.all(agents.map((agent) => agent.close())));

  const calls = () => agents.reduce((sum, { journal }) => sum + journal.length, 0);
  let serial = 0;
  const send = (more: object) => {
    serial += 1;
    return gateway.api.reach({ ability, idempotency_key: `other-${serial}`, timeout_ms: 20_000, ...more });
  };

  it('is not asked once the first may have begun', async () => {
    for (const agent of agents) agent.plays({ do: 'hang' });
    const { body } = await send(exactly);
    expect(body).toMatchObject({ code: 'agent_timeout', reach_status: 'dead_lettered' });
    expect(body.attempts).toHaveLength(1);
    expect(calls()).toBe(1);
  });

  it('is asked with at_least_once', async () => {
    for (const agent of agents) agent.plays({ do: 'hang' });
    const { body } = await send({});
    expect(body.attempts).toHaveLength(2);
    expect(new Set(body.attempts.map((one: { agent_name: string }) => one.agent_name)).size).toBe(2);
  });

  it('is asked when the first was not even there', async () => {
    for (const agent of agents) agent.plays({ do: 'answer', output: { answer: 'here' } });
    await agents[0]!.close();
    for (let i = 0; i < 4; i += 1) expect((await send(exactly)).body).toMatchObject({ agent_name: 'two' });
  });
});
