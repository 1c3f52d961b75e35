/** Ejection of failing instances (R14, R28) through the public surface (case T10). */
import type { Api } from '../../support/api';
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import { waitFor } from '../../support/wait-for';
import { broken, inBatches, metric, ok, startStaged, tally, type StagedAgent, type StagedDraft } from './support';

const agents: StagedAgent[] = [];
const gateways: TestGateway[] = [];
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await Promise.all(gateways.map((gateway) => gateway.close()));
});

async function open(ejection: object): Promise<Api> {
  const config = { breaker: { enabled: false }, ejection: { consecutive_failures: 3, base_sec: 8, ...ejection } };
  const gateway = await startGateway({ config });
  gateways.push(gateway);
  return gateway.api;
}

async function stage(api: Api, draft: StagedDraft): Promise<StagedAgent> {
  const agent = await startStaged(api, draft);
  agents.push(agent);
  return agent;
}

async function out(api: Api, { name }: StagedAgent): Promise<string[]> {
  const { instances } = (await api.get(`/v1/agents/${name}`)).body as {
    instances: { instance_id: string; status: string; status_reason: string }[];
  };
  const ejected = instances.filter(({ status }) => status === 'unavailable');
  for (const { status_reason: reason } of ejected) expect(reason).toMatch(/^ejected after \d+ failures in a row/);
  return ejected.map(({ instance_id }) => instance_id);
}

it('leaves at most two of three out at 67 %, and takes them back', async () => {
  const api = await open({ max_percent: 67 });
  const agent = await stage(api, { name: 'trio', instances: ['one', 'two', 'three'] });
  agent.plays(() => broken);
  let most = 0;
  await waitFor('two being out', async () => {
    expect(tally(await inBatches(6, 6, () => api.reach({ ability: agent.ability })))).toEqual({ agent_error: 6 });
    most = Math.max(most, (await out(api, agent)).length);
    return most === 2;
  });
  expect(await metric(api, 'agent_reach_ejected_instances')).toBe(2);
  const [gone, left] = [await out(api, agent), agent.visits.length];
  for (let round = 0; round < 5; round += 1) {
    await inBatches(6, 6, () => api.reach({ ability: agent.ability }));
    expect((await out(api, agent)).length).toBeLessThanOrEqual(2);
  }
  expect(agent.visits.length).toBe(left + 30);
  expect(gone).toHaveLength(2);
  agent.plays(() => ok);
  await waitFor('all being back', async () => (await out(api, agent)).length === 0, 60_000);
  await inBatches(40, 10, () => api.reach({ ability: agent.ability }));
  expect(new Set(agent.visits.map(({ instance }) => instance)).size).toBe(3);
});

it('never leaves a sole instance out at 50 %', async () => {
  const api = await open({ max_percent: 50 });
  const agent = await stage(api, { name: 'sole' });
  agent.plays(() => broken);
  expect(tally(await inBatches(15, 3, () => api.reach({ ability: agent.ability })))).toEqual({ agent_error: 15 });
  expect(await out(api, agent)).toEqual([]);
  expect(agent.visits).toHaveLength(15);
});

it('says when the first returns once all are out, and counts failures of further attempts like those of first ones', async () => {
  const api = await open({ max_percent: 100, base_sec: 10 });
  const agent = await stage(api, { name: 'pair', instances: ['one', 'two'], endpoint: { max_retry: 1 } });
  agent.plays(() => broken);
  const startedMs = performance.now();
  for (let n = 0; n < 3; n += 1) expectProblem(await api.reach({ ability: agent.ability }), 'agent_error');
  expect(agent.visits.map(({ instance }) => instance).toSorted()).toEqual(['one', 'one', 'one', 'two', 'two', 'two']);
  await waitFor('both being out', async () => (await out(api, agent)).length === 2, 9_000);
  const answer = await api.reach({ ability: agent.ability });
  const askedMs = performance.now();
  const problem = expectProblem(answer, 'all_instances_unavailable');
  expect(problem).toMatchObject({ retryable: true, diagnosis: { reason: 'not_ready' } });
  const waitMs = Number(problem.retry_after_ms);
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(10_000 - (askedMs - startedMs) / 10);
  expect(answer.headers['retry-after']).toBe(String(Math.ceil(waitMs / 1_000)));
  agent.plays(() => ok);
  await waitFor('the first being back', async () => (await api.reach({ ability: agent.ability })).status === 200);
  const backMs = performance.now() - askedMs;
  expect(backMs).toBeGreaterThan(waitMs - 300);
  expect(backMs).toBeLessThan(waitMs + 8_000);
});
