/** At most eight retries of an agent under way at once, those asleep in backoff counted (R27, case T11). */
import { startGateway, type TestGateway } from '../../support/gateway';
import { startWorkerAgent } from '../../support/scripted-worker-agent';
import { waitFor } from '../../support/wait-for';
import { broken, gate, inBatches, ok, startStaged, tally, type StagedAgent } from './support';

const CALLS = 200;
const SLOTS = 8;
let gateway: TestGateway;
let agent: StagedAgent;
beforeAll(async () => {
  gateway = await startGateway({
    config: {
      breaker: { enabled: false },
      ejection: { max_percent: 0 },
      bulkhead: { default_limit: 500 },
      adapter: { connections_per_agent: 300 },
    },
  });
  agent = await startStaged(gateway.api, { name: 'stormy', endpoint: { max_retry: 2, timeout_ms: 60_000 } });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});

it('lets eight of two hundred try again, and fails the others fast with the reason of the last attempt', async () => {
  const { api } = gateway;
  const [firsts, retries] = [gate(), gate()];
  agent.plays(async ({ call: { attempt } }) => {
    await (attempt === 1 ? firsts : retries).opened;
    // Long enough asleep that uncounted sleepers would all come.
    return attempt === 1 ? { ...broken, headers: { 'retry-after': '1' } } : ok;
  });
  const receipts = await inBatches(CALLS, 20, () =>
    api.reach({ ability: agent.ability, timeout_ms: 300_000 }, { prefer: 'respond-async' }),
  );
  await waitFor(
    'all calls at the agent',
    () => {
      if (agent.visits.length === CALLS) return true;
      throw new Error(
        `${agent.visits.length} came, attempts up to ${Math.max(...agent.visits.map((one) => one.call.attempt))}`,
      );
    },
    60_000,
  );
  firsts.open();
  await waitFor('the retries at the agent', () => agent.visits.length >= CALLS + SLOTS, 60_000);
  const views = () =>
    inBatches(CALLS, 20, async (n) => (await api.get(`/v1/reaches/${receipts[n]?.body.reach_id}`)).body);
  const ended = await waitFor(
    'the others having failed',
    async () => {
      const all = (await views()).filter(({ status }) => status === 'dead_lettered');
      return all.length === CALLS - SLOTS ? all : null;
    },
    60_000,
  );
  expect(agent.visits).toHaveLength(CALLS + SLOTS);
  expect(agent.inside).toBe(SLOTS);
  for (const { error } of ended)
    expect(error).toMatchObject({
      code: 'retry_budget_exhausted',
      degraded: true,
      retryable: true,
      last_error: { code: 'agent_error', message: expect.stringContaining('503') },
      details: { retry_suppressed: 'agent' },
      attempts: [{ n: 1, code: 'agent_error' }],
    });
  retries.open();
  await waitFor(
    'the eight being completed',
    async () => (await views()).filter(({ status }) => status === 'completed').length === SLOTS,
    30_000,
  );
  expect(agent.visits).toHaveLength(CALLS + SLOTS);

  let calls = 0;
  agent.plays(() => ((calls += 1) === 1 ? broken : ok));
  expect((await api.reach({ ability: agent.ability })).body).toMatchObject({ status: 'completed', attempts: 2 });
}, 240_000);

it('counts the retries of agents that pull as well', async () => {
  const other = await startGateway({ config: { breaker: { enabled: false }, retry: { concurrent_per_agent: 2 } } });
  const pulling = await startWorkerAgent(other.api, {
    name: 'pulling',
    endpoint: { max_retry: 1, timeout_ms: 15_000 },
  });
  try {
    pulling.plays(...Array.from({ length: 10 }, () => ({ do: 'fail', message: 'db down', afterMs: 500 }) as const), {
      do: 'hang',
    });
    const answers = await inBatches(10, 10, () => other.api.reach({ ability: pulling.ability, timeout_ms: 60_000 }));
    // The two that were retried hang until their time is over, so that no slot comes free meanwhile.
    expect(tally(answers)).toEqual({ agent_timeout: 2, retry_budget_exhausted: 8 });
    // What the reaches tell of themselves, and what the agent saw, are the same.
    const told = answers.reduce((sum, { body }) => sum + (body.attempts as unknown[]).length, 0);
    expect(told).toBe(12);
    expect(pulling.journal).toHaveLength(12);
    pulling.plays({ do: 'fail', message: 'once' }, { do: 'answer', output: { answer: 'ok' } });
    expect((await other.api.reach({ ability: pulling.ability })).body).toMatchObject({
      status: 'completed',
      attempts: 2,
    });
  } finally {
    await pulling.close();
    await other.close();
  }
});
