/** Degraded mode (R24) through the public surface. */
import type { Api } from '../../support/api';
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import { waitFor } from '../../support/wait-for';
import { metric, startStaged, type StagedAgent } from './support';

const AGENTS = 9;
let gateway: TestGateway;
let api: Api;
const agents: StagedAgent[] = [];
beforeAll(async () => {
  gateway = await startGateway({ config: { registry: { health_threshold: 0.3 } } });
  api = gateway.api;
  for (let n = 0; n < AGENTS; n += 1)
    agents.push(await startStaged(api, { name: `agent_${n}`, capabilities: ['shared', `own_${n}`] }));
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await gateway.close();
});

const leave = (n: number) => agents[n]!.leave(`agent_${n}-1`);
const join = (n: number) => agents[n]!.join(`agent_${n}-1`);
const isDegraded = async () => (await metric(api, 'agent_reach_degraded_mode')) === 1;
const ready = async () => {
  const states = await Promise.all(agents.map(async ({ name }) => (await api.get(`/v1/agents/${name}`)).body.status));
  return states.filter((status) => status === 'ready').length;
};

it('spreads what can be done, refuses the rest at once, and ends with some distance', async () => {
  // Once more after a first run that failed: those that it sent away come back first.
  for (let n = 0; n < AGENTS; n += 1) await join(n);
  await waitFor('everybody being there', async () => (await ready()) === AGENTS && !(await isDegraded()));
  await leave(8);
  await waitFor('the leave in the view', async () => (await ready()) === AGENTS - 1);
  const sync = expectProblem(await api.reach({ ability: 'own_8' }), 'no_ready_instance');
  expect(sync.diagnosis).toBeDefined();
  const early = await api.reach({ ability: 'own_8', mode: 'async', timeout_ms: 120_000 }, { prefer: 'respond-async' });
  expect(early.status).toBe(202);

  for (const n of [2, 3, 4, 5, 6, 7]) await leave(n);
  await waitFor('degraded mode', isDegraded);
  for (const agent of agents) agent.plays(() => ({ output: { answer: agent.name } }));
  const reasons: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const { body } = await api.reach({ ability: 'shared' });
    expect(body).toMatchObject({ status: 'completed', degraded: false });
    reasons.push(body.route_reason as string);
  }
  expect([agents[0]!.visits.length, agents[1]!.visits.length]).toEqual([3, 3]);
  for (const reason of reasons) {
    expect(reason).toMatch(/is next in turn of 2 for shared/);
    expect(reason).toContain('degraded mode: 22.2 % of the agents are healthy (threshold 30 %)');
  }

  for (const mode of ['sync', 'async'] as const) {
    const answer = await api.reach({ ability: 'own_5', mode });
    const problem = expectProblem(answer, 'degraded_mode');
    expect(problem).toMatchObject({
      degraded: true,
      retryable: true,
      diagnosis: { reason: expect.stringMatching(/\S/) },
    });
    expect(problem.retry_after_ms).toBeGreaterThan(0);
    expect(problem.detail).toContain('22.2 %');
  }
  expectProblem(await api.reach({ ability: 'nowhere' }), 'ability_not_found');
  expect((await api.get(`/v1/reaches/${early.body.reach_id}`)).body.status).toBe('running');

  await join(2);
  await waitFor('three being ready', async () => (await ready()) === 3);
  expect((await api.reach({ ability: 'own_2' })).status).toBe(200);
  expect(await isDegraded()).toBe(true);
  await join(3);
  await waitFor('the end of degraded mode', async () => !(await isDegraded()));
  expect((await api.reach({ ability: 'shared' })).body.route_reason).not.toContain('degraded mode');
  const late = await api.reach({ ability: 'own_5', mode: 'async', timeout_ms: 5_000 }, { prefer: 'respond-async' });
  expect(late.status).toBe(202);

  await join(8);
  const { body: end } = await api.ended(early.body.reach_id as string);
  expect(end).toMatchObject({ status: 'completed', agent_name: 'agent_8' });
  expect((await api.ended(late.body.reach_id as string)).body).toMatchObject({
    status: 'expired',
    error: { code: 'deadline_exceeded', last_error: { code: 'no_ready_instance' } },
  });
});
