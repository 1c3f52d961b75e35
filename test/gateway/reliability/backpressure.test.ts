/** Backpressure (R29): senders are told to hold back before they wait in vain. */
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import { waitFor } from '../../support/wait-for';
import { gate, metric, ok, startStaged, type StagedAgent } from './support';

const gateways: TestGateway[] = [];
const agents: StagedAgent[] = [];
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await Promise.all(gateways.map((gateway) => gateway.close()));
});

async function open(...args: Parameters<typeof startGateway>): Promise<TestGateway> {
  const gateway = await startGateway(...args);
  gateways.push(gateway);
  return gateway;
}

it('refuses what is more than one gateway may have in hand, and nothing else', async () => {
  const { api } = await open({ config: { backpressure: { max_in_flight: 2 } } });
  const agent = await startStaged(api, { name: 'slow' });
  agents.push(agent);
  const door = gate();
  agent.plays(async () => {
    await door.opened;
    return ok;
  });
  const held = [1, 2].map(() => api.reach({ ability: agent.ability, timeout_ms: 60_000 }));
  await waitFor('two in hand', async () => (await metric(api, 'agent_reach_requests_in_flight')) === 2);
  for (const mode of ['sync', 'async']) {
    const answer = await api.reach({ ability: agent.ability, mode });
    expect(expectProblem(answer, 'overloaded')).toMatchObject({
      degraded: true,
      retryable: true,
      retry_after_ms: expect.any(Number),
    });
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  }
  expect((await api.get('/v1/agents/slow')).status).toBe(200);
  door.open();
  for (const answer of await Promise.all(held)) expect(answer.status).toBe(200);
  expect((await api.reach({ ability: agent.ability })).status).toBe(200);
  expect(await metric(api, 'agent_reach_requests_in_flight')).toBe(0);
});

it('refuses callers that wait while the workers are behind, and takes durable hand-overs', async () => {
  const config = { backpressure: { max_backlog_age: '1s' } };
  const { api, platform } = await open({ withWorker: false, config });
  const agent = await startStaged(api, { name: 'later' });
  agents.push(agent);
  const first = await api.reach({ ability: agent.ability, timeout_ms: 300_000 }, { prefer: 'wait=1' });
  expect(first.status).toBe(202);
  const refused = await waitFor(
    'the backlog growing old',
    async () => {
      const answer = await api.reach({ ability: agent.ability, timeout_ms: 300_000 }, { prefer: 'wait=1' });
      return answer.status === 503 ? answer : null;
    },
    30_000,
  );
  expect(expectProblem(refused, 'overloaded')).toMatchObject({ degraded: true, retry_after_ms: expect.any(Number) });
  expect(refused.body.detail).toContain('The workers are behind');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect(await metric(api, 'agent_reach_worker_backlog_age_seconds')).toBeGreaterThan(1);
  expect(await metric(api, 'agent_reach_worker_backlog')).toBeGreaterThanOrEqual(1);

  const durable = await api.reach(
    { ability: agent.ability, mode: 'async', timeout_ms: 300_000 },
    { prefer: 'respond-async' },
  );
  expect(durable.status).toBe(202);
  expect(agent.visits).toHaveLength(0);

  await open({ platform, config });
  for (const { body } of [first, durable])
    expect((await api.ended(body.reach_id as string)).body.status).toBe('completed');
  await waitFor('callers that wait being taken again', async () => {
    const answer = await api.reach({ ability: agent.ability });
    return answer.status === 200;
  });
});
