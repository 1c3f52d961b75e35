/** Fallbacks (R30) through the public surface: an answer that says it is not the real one. */
import { randomUUID } from 'node:crypto';
import type { Answer, Api } from '../../support/api';
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import { waitFor } from '../../support/wait-for';
import { broken, startStaged, type StagedAgent } from './support';

const FIXED = { answer: 'call us', source: 'fallback' };
const INPUT = { type: 'object', required: ['item'], properties: { item: { type: 'string' } } };

let gateway: TestGateway;
let api: Api;
let shop: StagedAgent;
let warehouse: StagedAgent;
beforeAll(async () => {
  gateway = await startGateway({
    config: { breaker: { trip_failures: 1_000, trip_window: 1_000, min_requests: 10_000 } },
  });
  api = gateway.api;
  shop = await startStaged(api, {
    name: 'shop',
    capabilities: [
      { name: 'price', fallback: FIXED, input_schema: INPUT },
      { name: 'stock', fallback: 'warehouse', input_schema: INPUT },
    ],
    endpoint: { max_retry: 1 },
  });
  warehouse = await startStaged(api, { name: 'warehouse', capabilities: ['stock'] });
});
afterAll(async () => {
  await Promise.all([shop, warehouse].map((agent) => agent.close()));
  await gateway.close();
});
beforeEach(() => warehouse.plays(() => ({ output: { answer: 'from the warehouse' } })));

const ask = (ability: string, more: object = {}, headers?: Record<string, string>) =>
  api.reach({ ability, target_agent: 'shop', payload: { item: 'tea' }, ...more }, headers);

/** Ways in which the shop cannot be had, and what undoes each. */
const WAYS: [what: string, code: string, begin: () => Promise<unknown>, end: () => Promise<unknown>][] = [
  [
    'all breakers are open at acceptance',
    'circuit_open',
    () => eachBreaker((path) => api.put(path, { state: 'open', reason: 'test' })),
    () => eachBreaker((path) => api.delete(path)),
  ],
  [
    'nobody is ready at acceptance',
    'no_ready_instance',
    async () => {
      await shop.leave('shop-1');
      await untilStatus(503);
    },
    async () => {
      await shop.join('shop-1');
      await untilStatus(200);
    },
  ],
  ['the retries are used up', 'agent_error', () => Promise.resolve(), () => Promise.resolve()],
];

async function eachBreaker(act: (path: string) => Promise<Answer>): Promise<void> {
  for (const ability of ['price', 'stock'])
    expect((await act(`/v1/agents/shop/abilities/${ability}/breaker`)).status).toBe(200);
}

async function untilStatus(status: 200 | 503): Promise<void> {
  await waitFor('the shop being seen so', async () => {
    const { body } = await api.get('/v1/agents/shop');
    return (body.instances as { status: string }[]).some((one) => one.status === 'ready') === (status === 200);
  });
}

async function eventsOf(reachId: string): Promise<string> {
  return (await api.get(`/v1/reaches/${reachId}/events`)).text;
}

describe.each(WAYS)('when %s', (_what, code, begin, end) => {
  beforeAll(async () => {
    shop.plays(() => broken);
    await begin();
  });
  afterAll(async () => {
    await end();
  });

  it.each([
    ['price', 'shop', FIXED],
    ['stock', 'warehouse', { answer: 'from the warehouse' }],
  ])('%s is answered, degraded, on every channel', async (ability, agentName, output) => {
    const idempotency_key = `${code}-${ability}-${randomUUID()}`;
    const answer = await ask(ability, { idempotency_key });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      status: 'completed',
      degraded: true,
      output,
      agent_name: agentName,
      replayed: false,
    });
    expect(answer.body.route_reason).toContain(`a fallback answers because of ${code}`);
    const id = answer.body.reach_id as string;
    expect((await api.get(`/v1/reaches/${id}`)).body).toMatchObject({ status: 'completed', degraded: true, output });
    const again = await ask(ability, { idempotency_key });
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ reach_id: id, status: 'completed', degraded: true, output, replayed: true });
    const events = await eventsOf(id);
    expect(events).toMatch(/^event: ?completed$/m);
    expect(events).toContain(`"degraded_by":"${code}"`);
    expect(events).not.toMatch(/^event: ?(dead_lettered|expired)$/m);
    await waitFor('the list showing it completed', async () => {
      const { items } = (await api.get(`/v1/reaches?status=completed&ability=${ability}`)).body;
      return (items as { reach_id: string }[]).some(({ reach_id }) => reach_id === id);
    });
    const dead = (await api.get('/v1/dead-letters')).body.items as { reach_id: string }[];
    expect(dead.map(({ reach_id }) => reach_id)).not.toContain(id);
  });

  it('a receipt leads to the same end', async () => {
    const receipt = await ask('price', {}, { prefer: 'respond-async' });
    expect([200, 202]).toContain(receipt.status);
    expect((await api.ended(receipt.body.reach_id)).body).toMatchObject({
      status: 'completed',
      degraded: true,
      output: FIXED,
    });
  });

  it('a payload that does not match is still refused', async () => {
    const answer = await ask('price', { payload: { item: 7 } });
    expectProblem(answer, 'payload_schema_mismatch');
  });
});

describe('no fallback stands in', () => {
  it('for a refusal of the request', async () => {
    shop.plays(() => ({ status: 422, output: { error: 'no such item' } }));
    const problem = expectProblem(await ask('price'), 'agent_rejected');
    expect(problem.degraded).toBe(false);
    expectProblem(await ask('stock'), 'agent_rejected');
    expect(warehouse.visits).toHaveLength(0);
  });

  it('when the one named cannot answer either: the first failure is told', async () => {
    shop.plays(() => broken);
    warehouse.plays(() => ({ status: 422, output: { error: 'closed' } }));
    const problem = expectProblem(await ask('stock'), 'agent_error');
    expect(problem).toMatchObject({ agent_name: 'shop' });
    expect(problem.attempts?.map(({ agent_name }) => agent_name)).toEqual(['shop', 'shop', 'warehouse']);
  });

  it('by another agent for what may be sent only once', async () => {
    shop.plays(() => broken);
    expectProblem(await ask('stock', { delivery_semantics: 'at_most_once' }), 'agent_error');
    expect([shop.visits.length, warehouse.visits.length]).toEqual([1, 0]);
  });

  it('while the agent itself can be had', async () => {
    shop.plays(() => ({ output: { answer: '7' } }));
    expect((await ask('price')).body).toMatchObject({ degraded: false, output: { answer: '7' } });
  });
});
