import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEtcd, startTemporal, type RunningEngine } from '../../src/engines';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { descriptorOf } from '../support/scripted-agent';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

let temporal: RunningEngine;
let etcd: RunningEngine;
let gateway: TestGateway;
let agent: ScriptedHttpAgent;

beforeAll(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'agent-reach-outage-'));
  [temporal, etcd] = await Promise.all([
    startTemporal({ dataDir: join(dataDir, 'temporal'), searchAttributes: SEARCH_ATTRIBUTES }),
    startEtcd({ dataDir: join(dataDir, 'etcd') }),
  ]);
  gateway = await startGateway({ temporal: temporal.address, etcd: etcd.address });
  agent = await startHttpAgent(gateway.api, { name: 'steady', endpoint: { max_retry: 5, timeout_ms: 20_000 } });
});
afterAll(async () => {
  await agent?.close();
  await gateway?.close();
  await Promise.all([temporal?.stop(), etcd?.stop()]);
});
beforeEach(() => agent.plays());

const send = (more: object = {}, headers: Record<string, string> = {}) =>
  gateway.api.reach({ ability: agent.ability, ...more }, headers);
const ready = async () => (await gateway.api.get('/readyz')).body.ready as boolean;

async function crash(engine: RunningEngine): Promise<void> {
  engine.kill('SIGKILL');
  await engine.exited;
}

it('without etcd: reaches go on from the last view, nothing can be registered, and all comes back by itself', async () => {
  const path = '/v1/agents/steady/instances/steady-1';
  const { body: registration } = await gateway.api.put(path, { version: '1.0.0', ttl_sec: 600, host: agent.url });
  await crash(etcd);
  expect((await send()).body).toMatchObject({ status: 'completed' });
  expect((await send({}, { prefer: 'respond-async' })).status).toBe(202);
  expect((await gateway.api.get('/v1/agents/steady')).body.status).toBe('ready');
  const refused = await Promise.all([
    gateway.api.post('/v1/agents', descriptorOf({ name: 'newcomer' }, 'http')),
    gateway.api.put(path, { version: '1.0.0' }),
    gateway.api.post(`${path}/heartbeat`, { epoch: registration.epoch, status: 'ready', load: 0 }),
    gateway.api.delete(`${path}?epoch=${registration.epoch}`),
  ]);
  for (const answer of refused) {
    const problem = expectProblem(answer, 'engine_unavailable');
    expect(problem).toMatchObject({ retryable: true, retry_after_ms: expect.any(Number) });
    expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    expect(problem.detail).not.toContain(etcd.address);
    expect(answer.ms).toBeLessThan(10_000);
  }
  await waitFor('not ready', async () => !(await ready()));
  expect((await gateway.api.get('/healthz')).status).toBe(200);

  await etcd.restart?.();
  await waitFor('ready again', ready);
  expect((await gateway.api.post('/v1/agents', descriptorOf({ name: 'newcomer' }, 'http'))).status).toBe(201);
  expect(
    (await gateway.api.post(`${path}/heartbeat`, { epoch: registration.epoch, status: 'ready', load: 0 })).status,
  ).toBe(200);
  expect((await send()).body).toMatchObject({ status: 'completed' });
});

it('without Temporal: nothing is accepted and everybody is told, and what was accepted before is finished', async () => {
  agent.plays({ do: 'answer', output: { answer: 'in the end' }, afterMs: 2_000 });
  const idempotency_key = `before-${randomUUID()}`;
  const accepted = await send({ timeout_ms: 90_000, idempotency_key }, { prefer: 'respond-async' });
  await waitFor('the request', () => agent.journal[0]);
  await crash(temporal);

  const id = accepted.body.reach_id as string;
  const refused = await Promise.all([
    send(),
    send({}, { prefer: 'respond-async' }),
    send({ timeout_ms: 90_000, idempotency_key }),
    gateway.api.get(`/v1/reaches/${id}`),
    gateway.api.get(`/v1/reaches/${id}?wait=2`),
    gateway.api.get(`/v1/reaches/${id}/trace`),
    gateway.api.get('/v1/reaches'),
    gateway.api.post(`/v1/reaches/${id}:cancel`),
  ]);
  for (const answer of refused) {
    const problem = expectProblem(answer, 'engine_unavailable');
    expect(problem.retryable).toBe(true);
    expect(answer.text).not.toContain(temporal.address);
    expect(answer.ms).toBeLessThan(15_000);
  }
  expect(refused[0]?.body.detail).toMatch(/may have been accepted.*same idempotency key/);
  expect((await gateway.api.get('/readyz')).body).toMatchObject({ ready: false, temporal: 'unreachable' });
  expect((await gateway.api.get('/v1/abilities')).status).toBe(200);
  expectProblem(await send({ ability: 'steady.wrok' }), 'ability_not_found');

  await temporal.restart?.();
  await waitFor('ready again', ready, 30_000);
  const after = await waitFor(
    'a reach',
    async () => {
      const answer = await send({ timeout_ms: 20_000 });
      return answer.status === 200 ? answer : undefined;
    },
    30_000,
  );
  expect(after.body.status).toBe('completed');
  // Its attempt may have to run out first, and a look waits for 30 s only.
  const end = await waitFor(
    'the end of what was accepted before',
    async () => {
      const { status, body } = await gateway.api.ended(id);
      return status === 200 && body.status !== 'running' && body;
    },
    60_000,
  );
  expect(end).toMatchObject({ status: 'completed', output: { answer: 'in the end' } });
  // Tasks that waited for the server to come back may count as a backlog for a moment.
  const repeat = await waitFor('the repeat', async () => {
    const answer = await send({ timeout_ms: 90_000, idempotency_key });
    return answer.status === 503 ? undefined : answer;
  });
  expect(repeat.body).toMatchObject({ reach_id: id, replayed: true });
  const keys = agent.journal.filter(({ call }) => call.reach_id === id).map(({ call }) => call.idempotency_key);
  expect(new Set(keys)).toEqual(new Set([idempotency_key]));
});
