/** Bulkheads (R29) through the public surface: no agent ever has more calls at once than it takes (case T09). */
import type { Answer, Api } from '../../support/api';
import { startGateway, type TestGateway } from '../../support/gateway';
import { startGatewayProcess } from '../../support/gateway-process';
import { expectProblem } from '../../support/problem';
import { waitFor } from '../../support/wait-for';
import { gate, inBatches, metric, ok, startStaged, tally, type StagedAgent } from './support';

const CONFIG = {
  // By name: what was measured before must not decide who is asked first.
  router: { enabled_factors: ['semantic_similarity'] },
  breaker: { enabled: false },
  ejection: { max_percent: 0 },
  bulkhead: { queue_limit: 10, queue_wait: '500ms', limits: { by_hand: 2, divided: 4, a_full: 1, z_full: 1 } },
};

let gateway: TestGateway;
let api: Api;
const agents: StagedAgent[] = [];
beforeAll(async () => {
  gateway = await startGateway({ config: CONFIG });
  api = gateway.api;
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await gateway.close();
});

async function stage(...args: Parameters<typeof startStaged>): Promise<StagedAgent> {
  const agent = await startStaged(...args);
  agents.push(agent);
  return agent;
}

/** A plot that holds everything, and what opens it. */
function holding(agent: StagedAgent) {
  const door = gate();
  agent.plays(async () => {
    await door.opened;
    return ok;
  });
  return door;
}

it('keeps to max_concurrency over successes, errors, timeouts and cancellations, and gives every place back', async () => {
  const capabilities = ['narrow.work', { name: 'narrow.fast', idempotent: true }];
  const agent = await stage(api, { name: 'narrow', capabilities, maxConcurrency: 2, endpoint: { timeout_ms: 400 } });
  agent.plays(async ({ call: { payload }, dropped }) => {
    if (payload.case === 'error') return { status: 500 };
    if (payload.case === 'success') return ok;
    // What is too slow answers late, when nobody listens any more.
    await new Promise((resolve) => dropped.addEventListener('abort', resolve, { once: true }));
    return ok;
  });
  const kinds = ['success', 'error', 'timeout', 'cancel_running', 'cancel_queued'];
  const one = async (n: number): Promise<string> => {
    const kind = kinds[n % kinds.length]!;
    const mode = n % 2 === 0 ? 'async' : 'sync';
    const answer = await api.reach(
      {
        ability: n % 3 === 0 ? 'narrow.fast' : 'narrow.work',
        payload: { case: kind, id: `call ${n}` },
        mode,
        timeout_ms: 30_000,
      },
      kind.startsWith('cancel') || mode === 'async' ? { prefer: 'respond-async' } : {},
    );
    if (answer.status !== 202) return String(answer.body.code ?? answer.body.status);
    const id = answer.body.reach_id as string;
    if (kind === 'cancel_running')
      await waitFor(
        'the call at the agent, or its end',
        async () =>
          agent.visits.some(({ call }) => call.payload.id === `call ${n}`) ||
          (await api.get(`/v1/reaches/${id}`)).body.status !== 'running',
        40_000,
      );
    if (kind.startsWith('cancel')) await api.post(`/v1/reaches/${id}:cancel`);
    const { body } = await api.ended(id);
    return String(body.error?.code ?? body.status);
  };
  const ends = await inBatches(200, 25, one);
  const counts: Record<string, number> = {};
  for (const end of ends) counts[end] = (counts[end] ?? 0) + 1;
  const defined = [
    'completed',
    'agent_error',
    'agent_timeout',
    'overloaded',
    'no_ready_instance',
    'deadline_exceeded',
    'reach_terminal',
  ];
  expect(Object.keys(counts).filter((code) => !defined.includes(code))).toEqual([]);
  for (const code of ['agent_error', 'agent_timeout']) expect(counts[code]).toBeGreaterThan(0);
  expect(counts.completed).toBeGreaterThan(10);
  expect(counts.reach_terminal).toBeGreaterThan(10);
  expect(agent.mostInside).toBe(2);

  await waitFor('nobody being inside', () => agent.inside === 0);
  await waitFor('no call being counted as in flight', async () => {
    const { body } = await api.get('/v1/agents/narrow');
    return body.stats.in_flight === 0 && body.instances[0].in_flight === 0 && body.instances[0].status === 'ready';
  });
  const door = holding(agent);
  const again = [1, 2].map(() => api.reach({ ability: agent.ability }));
  await waitFor('both places being free again', () => agent.inside === 2);
  door.open();
  expect(tally(await Promise.all(again))).toEqual({ 200: 2 });
}, 180_000);

it('refuses what would wait too long, in a way that tells a full house from a bad request', async () => {
  const agent = await stage(api, { name: 'by_hand', endpoint: { timeout_ms: 20_000 } });
  const door = holding(agent);
  const answers: Answer[] = [];
  const calls = Array.from({ length: 20 }, async () =>
    answers.push(await api.reach({ ability: agent.ability, timeout_ms: 60_000 })),
  );
  await waitFor('all but two being refused', () => answers.length === 18);
  expect(agent.visits).toHaveLength(2);
  for (const answer of answers) {
    const problem = expectProblem(answer, 'overloaded');
    expect(problem).toMatchObject({ degraded: true, retryable: true });
    expect(problem.retry_after_ms).toBeGreaterThan(0);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  }
  door.open();
  await Promise.all(calls);
  expect(tally(answers)).toEqual({ 200: 2, overloaded: 18 });
  expect(agent.mostInside).toBe(2);
});

it('never sends what ran out of time in the queue, and a durable hand-over comes back until it gets its place', async () => {
  const agent = agents.find(({ name }) => name === 'by_hand')!;
  const door = holding(agent);
  const inside = [1, 2].map(() => api.reach({ ability: agent.ability, timeout_ms: 60_000 }));
  await waitFor('both places being taken', () => agent.inside === 2);
  const patient = await api.reach(
    { ability: agent.ability, payload: { case: 'patient' }, mode: 'async', timeout_ms: 120_000 },
    { prefer: 'respond-async' },
  );
  expect(patient.status).toBe(202);
  const late = await api.reach({ ability: agent.ability, payload: { case: 'late' }, timeout_ms: 250 });
  expect(['deadline_exceeded', 'overloaded']).toContain(late.body.code);
  door.open();
  await Promise.all(inside);
  expect((await api.ended(patient.body.reach_id)).body.status).toBe('completed');
  expect(agent.visitsOf('patient')).toHaveLength(1);
  expect(agent.visitsOf('late')).toHaveLength(0);
  expect(agent.mostInside).toBe(2);
});

it('works durable hand-overs off, however many come at once', async () => {
  const agent = agents.find(({ name }) => name === 'by_hand')!;
  agent.plays(async () => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return ok;
  });
  const receipts = await inBatches(40, 20, () =>
    api.reach({ ability: agent.ability, mode: 'async', timeout_ms: 300_000 }, { prefer: 'respond-async' }),
  );
  expect(tally(receipts)).toEqual({ 202: 40 });
  await inBatches(40, 40, (n) =>
    waitFor(
      'the end of a hand-over',
      async () => (await api.ended(receipts[n]?.body.reach_id as string)).body.status === 'completed',
      90_000,
    ),
  );
  expect(agent.visits).toHaveLength(40);
  expect(agent.mostInside).toBe(2);
}, 120_000);

it('hands what it turns away to the next-best agent, even what may be sent only once', async () => {
  const capabilities = ['taken'];
  const full = await stage(api, { name: 'a_full', capabilities, endpoint: { timeout_ms: 20_000 } });
  const door = holding(full);
  const held = api.reach({ ability: 'taken', target_agent: 'a_full', timeout_ms: 60_000 });
  await waitFor('the only place being taken', () => full.inside === 1);
  const other = await stage(api, { name: 'b_other', capabilities });
  for (const delivery_semantics of ['at_least_once', 'at_most_once']) {
    const { body } = await api.reach({ ability: 'taken', delivery_semantics });
    expect(body).toMatchObject({ status: 'completed', agent_name: 'b_other', attempts: 1 });
    const { text: events } = await api.get(`/v1/reaches/${body.reach_id}/events`);
    expect(events.match(/^event: ?routed$/gm)).toHaveLength(2);
  }
  expect([full.visits.length, other.visits.length]).toEqual([1, 2]);
  door.open();
  expect((await held).status).toBe(200);
});

it('tells what failed before when the next-best agent is full', async () => {
  const capabilities = ['passed_on'];
  const failing = await stage(api, { name: 'y_failing', capabilities });
  failing.plays(() => ({ status: 500, output: { error: 'db down' } }));
  const full = await stage(api, { name: 'z_full', capabilities, endpoint: { timeout_ms: 20_000 } });
  const door = holding(full);
  const held = api.reach({ ability: 'passed_on', target_agent: 'z_full', timeout_ms: 60_000 });
  await waitFor('the only place being taken', () => full.inside === 1);
  const problem = expectProblem(await api.reach({ ability: 'passed_on' }), 'overloaded');
  expect(problem).toMatchObject({
    last_error: { code: 'agent_error', message: expect.stringContaining('db down') },
    attempts: [{ n: 1, agent_name: 'y_failing', code: 'agent_error' }],
  });
  expect([failing.visits.length, full.visits.length]).toEqual([1, 1]);
  door.open();
  expect((await held).status).toBe(200);
});

it('divides a limit of the platform between its workers', async () => {
  const other = await startGateway({ platform: gateway.platform, config: CONFIG });
  try {
    const agent = await stage(api, { name: 'divided', endpoint: { timeout_ms: 20_000 } });
    const apis = [api, other.api];
    for (const one of apis) {
      await waitFor('two workers', async () => (await metric(one, 'agent_reach_workers')) === 2);
      await waitFor('the agent in the view', async () => (await one.get('/v1/agents/divided')).status === 200);
    }
    const door = holding(agent);
    const answers: Answer[] = [];
    const calls = Array.from({ length: 20 }, async (_, n) => {
      answers.push(await apis[n % 2]!.reach({ ability: agent.ability, timeout_ms: 60_000 }));
    });
    await waitFor('all but four being refused', () => answers.length === 16, 20_000);
    expect(agent.visits).toHaveLength(4);
    door.open();
    await Promise.all(calls);
    expect(tally(answers)).toEqual({ 200: 4, overloaded: 16 });
    expect(agent.mostInside).toBe(4);
  } finally {
    await other.close();
  }
});

it('takes back the share of a worker that was killed, with what it held', async () => {
  const other = await startGatewayProcess({ platform: gateway.platform, config: CONFIG });
  try {
    const agent = agents.find(({ name }) => name === 'divided')!;
    await waitFor('two workers', async () => (await metric(api, 'agent_reach_workers')) === 2);
    const door = holding(agent);
    const lost = other.api.reach({ ability: agent.ability, timeout_ms: 60_000 }).catch(() => null);
    await waitFor('a call at the agent', () => agent.inside === 1, 20_000);
    other.child.kill('SIGKILL');
    await lost;
    await waitFor('one worker', async () => (await metric(api, 'agent_reach_workers')) === 1, 30_000);
    const calls = [1, 2, 3, 4].map(() => api.reach({ ability: agent.ability, mode: 'async', timeout_ms: 120_000 }));
    await waitFor('all four places being given again', () => agent.inside === 4, 30_000);
    expect(agent.mostInside).toBe(4);
    door.open();
    for (const { body } of await Promise.all(calls))
      expect((await api.ended(body.reach_id as string)).body.status).toBe('completed');
  } finally {
    await other.close();
  }
}, 90_000);
