/** Circuit breakers (R28) before agents that pull: no activity of ours makes their calls, and yet they count and hold. */
import { startGateway, type TestGateway } from '../../support/gateway';
import { expectProblem } from '../../support/problem';
import type { ScriptedAgent } from '../../support/scripted-agent';
import { startWorkerAgent } from '../../support/scripted-worker-agent';
import { waitFor } from '../../support/wait-for';
import { breakerOf, inBatches, tally, untilBreaker } from './support';

let gateway: TestGateway;
const agents: ScriptedAgent[] = [];
beforeAll(async () => {
  gateway = await startGateway({
    config: {
      breaker: {
        min_requests: 6,
        sustained_sec: 1,
        probe_interval_sec: 1,
        recovery_successes: 1,
        recovery_step_sec: 3_600,
      },
    },
  });
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await gateway.close();
});

async function start(name: string, maxRetry: number): Promise<ScriptedAgent> {
  const agent = await startWorkerAgent(gateway.api, { name, endpoint: { max_retry: maxRetry, timeout_ms: 5_000 } });
  agents.push(agent);
  return agent;
}

const call = (agent: ScriptedAgent, more: object = {}, headers?: Record<string, string>) =>
  gateway.api.reach({ ability: agent.ability, ...more }, headers);

async function trip(agent: ScriptedAgent): Promise<void> {
  agent.plays({ do: 'fail', message: 'db down' });
  await inBatches(6, 6, () => call(agent));
  await untilBreaker(gateway.api, agent.ability, 'open');
}

it('opens for failures, is probed, recovers and closes', async () => {
  const agent = await start('pulling', 0);
  await trip(agent);
  agent.plays({ do: 'answer', output: { answer: 'ok' } });
  const states: string[] = [];
  await waitFor(
    'the recovery',
    async () => {
      const { state, share } = await breakerOf(gateway.api, agent.ability);
      if (states.at(-1) !== `${state} ${share}`) states.push(`${state} ${share}`);
      if (state === 'closed') return true;
      await call(agent);
    },
    40_000,
  );
  expect(states.filter((state) => !state.startsWith('open'))).toEqual([
    'recovering 0.1',
    'recovering 0.25',
    'recovering 0.5',
    'closed 1',
  ]);
  expect(agent.journal.map((seen) => seen.call.bypass)).toEqual(agent.journal.map(() => true));
  agent.plays({ do: 'answer', output: { answer: 'ok' } });
  expect(tally(await inBatches(5, 5, () => call(agent)))).toEqual({ 200: 5 });
  expect(agent.journal.map((seen) => seen.call.bypass)).toEqual([false, false, false, false, false]);
});

it('sends a failing probe once, whatever retries the agent is worth', async () => {
  const agent = await start('probed', 3);
  await trip(agent);
  agent.plays({ do: 'fail', message: 'still down' });
  const answer = await waitFor('a probe', async () => {
    const one = await call(agent, { timeout_ms: 20_000 });
    return agent.journal.length > 0 ? one : null;
  });
  expect(expectProblem(answer, 'circuit_open')).toMatchObject({
    last_error: { code: 'agent_error' },
    attempts: [{ n: 1, code: 'agent_error' }],
  });
  expect(agent.journal).toHaveLength(1);
  expect((await breakerOf(gateway.api, agent.ability)).reason).toBe('the probe failed');
});

it('lets durable hand-overs that wait for it pass one by one, as probe and by its steps', async () => {
  const agent = await start('awaited', 0);
  await trip(agent);
  agent.plays(
    { do: 'answer', output: { answer: 'the probe' }, afterMs: 2_500 },
    { do: 'answer', output: { answer: 'ok' } },
  );
  const receipts = await inBatches(8, 8, () =>
    call(agent, { mode: 'async', timeout_ms: 120_000 }, { prefer: 'respond-async' }),
  );
  expect(tally(receipts)).toEqual({ 202: 8 });
  await waitFor('a second call', () => agent.journal.length > 1, 30_000);
  expect((agent.journal[1]?.atMs ?? 0) - (agent.journal[0]?.atMs ?? 0)).toBeGreaterThan(2_400);
  expect(agent.journal[0]?.call.bypass).toBe(true);
  // One by one takes a while; a look at the end waits for 30 s only.
  const ends = await inBatches(8, 8, (n) =>
    waitFor(
      'its end',
      async () => {
        const { status } = (await gateway.api.ended(receipts[n]?.body.reach_id as string)).body;
        return status !== 'running' && (status as string);
      },
      60_000,
    ),
  );
  expect(ends).toEqual(ends.map(() => 'completed'));
  await untilBreaker(gateway.api, agent.ability, 'closed');
});
