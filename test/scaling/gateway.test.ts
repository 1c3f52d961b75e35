/**
 * Hints and estimates through a real gateway, with an agent that takes one call at a time. How near estimates come is a matter of
 * the machine, so it is shown by the simulations and not held here.
 */
import { randomUUID } from 'node:crypto';
import { AgentReachClient } from '../../src/sdk/client';
import { startGateway, type TestGateway } from '../support/gateway';
import { registerDescriptor } from '../support/scripted-agent';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { eventually } from '../registry/support';

const SERVICE_MS = 300;
const QUEUED = 8;

let gateway: TestGateway;
let strict: TestGateway;
let agent: ScriptedHttpAgent;
let client: AgentReachClient;

beforeAll(async () => {
  gateway = await startGateway({ config: { bulkhead: { queue_wait: '20s' } } });
  strict = await startGateway({
    platform: gateway.platform,
    withWorker: false,
    config: { acceptance: { feasibility: 'refuse', min_probability: 0.2 } },
  });
  agent = await startHttpAgent(gateway.api, { name: 'desk', endpoint: { timeout_ms: 10_000, max_retry: 0 } });
  const path = `/v1/agents/desk/instances/${agent.instanceId}`;
  const one = { version: '1.0.0', ttl_sec: 600, host: agent.url, max_concurrency: 1 };
  expect((await gateway.api.put(path, one)).status).toBe(200);
  agent.plays({ do: 'answer', output: {}, afterMs: SERVICE_MS });
  client = new AgentReachClient({ url: gateway.url });
});
afterAll(async () => {
  await client.close();
  await agent.close();
  await strict.close();
  await gateway.close();
});

const send = (more: object = {}) =>
  gateway.api.reach({ ability: 'desk.work', mode: 'async', ...more }, { prefer: 'respond-async' });

it('promises nothing before it has measured anything', async () => {
  const { body, status } = await send();
  expect(status).toBe(202);
  expect(body).not.toHaveProperty('eta_ms');
  await gateway.api.ended(body.reach_id);
});

it('an idle agent is expected to take a service', async () => {
  for (let n = 0; n < 12; n += 1)
    expect((await gateway.api.reach({ ability: 'desk.work', mode: 'async' })).status).toBe(200);
  const { eta_ms, eta_p95_ms, warnings, reach_id } = await eventually(async () => {
    const { body } = await send();
    await gateway.api.ended(body.reach_id);
    return body.eta_ms < SERVICE_MS * 2 && body;
  });
  expect(eta_ms).toBeGreaterThan(SERVICE_MS * 0.9);
  expect(eta_p95_ms).toBeGreaterThanOrEqual(eta_ms);
  expect(warnings).toBeUndefined();
  expect(reach_id).toMatch(/^r-/);
});

it('a reach that finds a queue is told of it, all are served, and a repeat has its receipt without an estimate', async () => {
  const run = randomUUID();
  agent.plays({ do: 'answer', output: {}, afterMs: SERVICE_MS * 3 });
  const sent: { id: string }[] = [];
  for (let n = 0; n < QUEUED; n += 1) {
    const { body, status } = await send({ idempotency_key: `${run}-${n}` });
    expect(status).toBe(202);
    expect(body.eta_p95_ms).toBeGreaterThanOrEqual(body.eta_ms);
    sent.push({ id: body.reach_id });
  }
  // What was accepted a moment ago is on its way to the queue.
  await eventually(async () => (await client.stats()).items[0]!.queue_depth >= 3);
  expect((await send()).body.eta_ms).toBeGreaterThan(SERVICE_MS * 2);
  const repeat = await send({ idempotency_key: `${run}-${QUEUED - 1}` });
  expect(repeat.body).toMatchObject({ reach_id: sent.at(-1)!.id, replayed: true });
  expect(repeat.body).not.toHaveProperty('eta_ms');

  const ended = await Promise.all(sent.map(({ id }) => gateway.api.ended(id)));
  expect(ended.map(({ body }) => body.error ?? body.status)).toEqual(ended.map(() => 'completed'));
  agent.plays({ do: 'answer', output: {}, afterMs: SERVICE_MS });
});

it('a caller that waits queues at an agent that is full of the calls of others, instead of being refused', async () => {
  agent.plays({ do: 'answer', output: {}, afterMs: 4_000 });
  const held = gateway.api.reach({ ability: 'desk.work', timeout_ms: 60_000 });
  await eventually(async () => {
    const { body } = await gateway.api.get('/v1/agents/desk');
    return body.instances[0].full_by_count === true && body.instances[0].status === 'busy';
  });
  const next = await gateway.api.reach({ ability: 'desk.work', timeout_ms: 60_000 });
  expect(next).toMatchObject({
    status: 200,
    body: { route_reason: expect.stringContaining('queues for the next place') },
  });
  expect((await held).status).toBe(200);
  agent.plays({ do: 'answer', output: {}, afterMs: SERVICE_MS });
});

it('warns of a deadline at risk, and refuses a hopeless one where it is told to: nothing is started, no key used', async () => {
  const tight = { timeout_ms: 200 };
  const warned = await send({ ...tight, idempotency_key: randomUUID() });
  expect(warned.status).toBe(202);
  expect(warned.body.warnings).toEqual([
    { code: 'deadline_at_risk', message: expect.stringMatching(/chance of 0 % .*200 ms.*more time/) },
  ]);
  await gateway.api.ended(warned.body.reach_id);

  let key = '';
  const refused = await eventually(async () => {
    key = `tight-${performance.now()}`;
    const envelope = { ability: 'desk.work', mode: 'async', ...tight, idempotency_key: key };
    const answer = await strict.api.reach(envelope, { prefer: 'respond-async' });
    return answer.status >= 500 && answer;
  });
  // Services alone take longer than half of 200 ms: to wait would not help.
  const details = { probability: 0, samples: expect.any(Number) };
  expect(refused.body).toMatchObject({ code: 'deadline_exceeded', status: 504, agent_name: 'desk', details });
  expect(refused.body.details.eta_ms).toBeGreaterThan(100);
  expect(refused.body).not.toHaveProperty('retry_after_ms');
  expect(refused.body).not.toHaveProperty('reach_id');
  const again = await strict.api.reach({
    ability: 'desk.work',
    mode: 'async',
    timeout_ms: 60_000,
    idempotency_key: key,
  });
  expect(again).toMatchObject({ status: 200, body: { replayed: false } });
});

it('says by API, SDK and metrics what the agent carries', async () => {
  // Who was turned away and then gave up is forgotten within a minute.
  const [hint] = await eventually(async () => {
    const hints = await client.scalingHints({ agent: 'desk' });
    return hints[0]!.current.queue_depth === 0 && hints;
  }, 75_000);
  expect(hint).toMatchObject({
    agent_name: 'desk',
    agent_version: '1.0.0',
    current: { instances: 1, max_concurrency: 1, queue_depth: 0 },
    recommended: { reason: expect.any(String) },
    earlier: null,
  });
  expect(hint!.current.service_ms.p50).toBeGreaterThan(SERVICE_MS * 0.9);
  expect(hint!.current.arrival_per_sec).toBeGreaterThan(0);
  expect(hint!.samples.arrivals).toBeGreaterThan(20);
  expect(hint!.confidence).toBeGreaterThan(0);

  const { items, totals } = await client.stats();
  expect(items).toEqual([expect.objectContaining({ agent_name: 'desk', instances: 1, queue_depth: 0 })]);
  expect(totals).toMatchObject({ agents: 1, instances: 1, in_flight: 0 });

  const { text } = await gateway.api.get('/metrics');
  expect(text).toMatch(/^agent_reach_scaling_recommended_instances\{agent="desk"\} [1-9]/m);
  expect(text).toMatch(
    /^agent_reach_agent_utilisation\{agent="desk"\} 0\.\d+|^agent_reach_agent_utilisation\{agent="desk"\} [1-9]/m,
  );
  expect(text).toMatch(/^agent_reach_agent_arrivals_per_second\{agent="desk"\} 0?\.?\d+/m);
  expect(text).toMatch(/^agent_reach_agent_queue_depth\{agent="desk"\} 0$/m);
});

it('the other gateway of the platform tells the same: what is measured is shared', async () => {
  const here = await client.scalingHints({ agent: 'desk' });
  await eventually(async () => {
    const { body } = await strict.api.get('/v1/scaling-hints?agent=desk');
    return body.items[0].samples.services >= here[0]!.samples.services * 0.9;
  });
});

it('has advice for an agent that nobody has called, and none for one that is not there', async () => {
  await registerDescriptor(gateway.api, {
    name: 'quiet',
    version: '1.0.0',
    capabilities: [{ name: 'quiet.work', description: 'waits' }],
    endpoint: { protocol: 'http' },
  });
  await eventually(async () => (await gateway.api.get('/v1/scaling-hints?agent=quiet')).status === 200);
  const quiet = await gateway.api.get('/v1/scaling-hints?agent=quiet');
  expect(quiet.body.items).toMatchObject([{ agent_name: 'quiet', cause: 'no_data', confidence: 0 }]);
  const unknown = await gateway.api.get('/v1/scaling-hints?agent=desks');
  expect(unknown.body).toMatchObject({ code: 'agent_not_found', diagnosis: { closest: [{ name: 'desk' }] } });
  expect((await gateway.api.get('/v1/stats?agents=desk')).body).toMatchObject({ code: 'invalid_request' });
});
