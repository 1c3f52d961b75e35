import { randomUUID } from 'node:crypto';
import { startGateway, type TestGateway } from '../support/gateway';
import { startGatewayProcess, type GatewayProcess } from '../support/gateway-process';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

const platform = `test-${randomUUID()}`;
let staying: TestGateway;
let agent: ScriptedHttpAgent;
const processes: GatewayProcess[] = [];

beforeAll(async () => {
  staying = await startGateway({ platform, withWorker: false });
  agent = await startHttpAgent(staying.api, { name: 'patient', endpoint: { max_retry: 3, timeout_ms: 30_000 } });
});
afterAll(async () => {
  await Promise.all(processes.map((one) => one.close()));
  await agent.close();
  await staying.close();
});
beforeEach(() => agent.plays());

async function start(gracefulTimeout: string): Promise<GatewayProcess> {
  const one = await startGatewayProcess({
    platform,
    config: { server: { port: 0, graceful_timeout: gracefulTimeout } },
  });
  processes.push(one);
  await waitFor('the agent in its view', async () => (await one.api.get('/v1/agents/patient')).status === 200);
  return one;
}

it('on SIGTERM a gateway finishes what it has, takes nothing new, and exits with 0', async () => {
  const leaving = await start('10s');
  agent.plays({ do: 'answer', output: { answer: 'done' }, afterMs: 1_500 });
  const waiting = leaving.api.reach({ ability: agent.ability, timeout_ms: 30_000 });
  await waitFor('the request', () => agent.journal[0]);
  leaving.child.kill('SIGTERM');
  const refused = await waitFor('a refusal', async () => {
    const answer = await leaving.api.reach({ ability: agent.ability }).catch(() => 'closed' as const);
    return answer === 'closed' || answer.status !== 200 ? answer : undefined;
  });
  if (refused !== 'closed') {
    expectProblem(refused, 'engine_unavailable');
    expect(refused.headers.connection).toBe('close');
  }
  const answer = await waiting;
  expect([answer.status, answer.body.output]).toEqual([200, { answer: 'done' }]);
  expect(await leaving.ended).toBe(0);
  expect(agent.journal.length).toBeGreaterThanOrEqual(1);
  expect((await staying.api.get(`/v1/reaches/${answer.body.reach_id}`)).body).toMatchObject({
    status: 'completed',
    attempts: 1,
  });
});

it('after SIGTERM or SIGKILL another process finishes the reach, under the same key', async () => {
  let leaving = await start('300ms');
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    agent.plays(
      { do: 'answer', output: { answer: 'too late' }, afterMs: 8_000 },
      { do: 'answer', output: { answer: 'taken over' } },
    );
    const idempotency_key = `handed-over-${signal}-${randomUUID()}`;
    const waiting = leaving.api
      .reach({ ability: agent.ability, timeout_ms: 60_000, idempotency_key })
      .catch(() => 'cut off' as const);
    await waitFor('the request', () => agent.journal[0]);
    leaving.child.kill(signal);
    const next = await start('300ms');
    const answer = await waiting;
    if (answer !== 'cut off') expect([202, 503]).toContain(answer.status);
    expect(await leaving.ended).toBe(signal === 'SIGKILL' ? 'SIGKILL' : 0);

    const end = await next.api.reach(
      { ability: agent.ability, timeout_ms: 60_000, idempotency_key },
      { prefer: 'wait=40' },
    );
    expect(end.body).toMatchObject({
      status: 'completed',
      output: { answer: 'taken over' },
      replayed: true,
      attempts: 2,
    });
    expect(agent.journal.map(({ call }) => [call.idempotency_key, call.attempt])).toEqual([
      [idempotency_key, 1],
      [idempotency_key, 2],
    ]);
    leaving = next;
  }
});
