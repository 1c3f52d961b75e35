/** W05: a reach that is cancelled while it completes has one end, the same wherever one looks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { startWorkerAgent } from '../support/scripted-worker-agent';
import { waitFor } from '../support/wait-for';
import { readEvents } from './event-stream';

const RACES = 30;
const CANCEL_AFTER_MS = 500;

let gateway: TestGateway;
let agent: ScriptedHttpAgent;

beforeAll(async () => {
  gateway = await startGateway();
  agent = await startHttpAgent(gateway.api, { name: 'racer' });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});

const TERMINAL = ['completed', 'cancelled', 'dead_lettered', 'expired', 'outcome_unknown'];

interface Ends {
  id: string;
  cancel: number;
  get: string;
  sse: string[];
  again: string;
}

/**
 * The agent answers after `answerMs`; the reach is cancelled before. A worker hears of it with its next heartbeat, one a
 * second: that is when the two meet.
 */
async function race(answerMs: number): Promise<Ends> {
  const name = `race-${answerMs}`;
  agent.playsFor(name, { do: 'answer', output: { answer: 'just in time' }, afterMs: answerMs });
  const { body } = await gateway.api.reach(
    { ability: agent.ability, payload: { case: name } },
    { prefer: 'respond-async' },
  );
  const id = body.reach_id as string;
  const events = readEvents(gateway.url, id);
  const polled = gateway.api.ended(id);
  await waitFor('the call', () => agent.journal.some(({ call }) => call.reach_id === id));
  await sleep(CANCEL_AFTER_MS);
  const cancel = await gateway.api.post(`/v1/reaches/${id}:cancel`);
  if (cancel.status !== 202) expectProblem(cancel, 'reach_terminal');
  const [view, told] = await Promise.all([polled, events]);
  const again = (await gateway.api.ended(id)).body.status as string;
  const sse = told.map(({ event }) => event).filter((event) => TERMINAL.includes(event));
  return { id, cancel: cancel.status, get: view.body.status as string, sse, again };
}

it(`${RACES} races: GET, events and list tell one and the same terminal status`, async () => {
  const ends: Ends[] = [];
  for (let i = 0; i < RACES; i += 10) {
    // From 0.45 s, before the request to cancel, to 3.9 s, after the heartbeat that tells of it on a slow machine as well.
    const moments = Array.from({ length: 10 }, (_, n) => Math.round(450 + ((i + n) * 3_500) / RACES));
    ends.push(...(await Promise.all(moments.map(race))));
  }
  for (const { id, cancel, get, sse, again } of ends) {
    expect([id, get, again, sse]).toEqual([id, get, get, [get]]);
    expect(['completed', 'cancelled']).toContain(get);
    // Refused because it was over: then it cannot have been cancelled.
    if (cancel === 409) expect(get).toBe('completed');
  }
  // A run in which only one side ever wins has not raced.
  expect(new Set(ends.map(({ get }) => get)).size).toBe(2);
  const expected = new Map(ends.map(({ id, get }) => [id, get]));
  await waitFor('the list to agree', async () => {
    const { body } = await gateway.api.get(`/v1/reaches?ability=${agent.ability}&limit=100`);
    const items = body.items as { reach_id: string; status: string }[];
    const listed = new Map(items.map(({ reach_id, status }) => [reach_id, status]));
    return [...expected].every(([id, status]) => listed.get(id) === status);
  });
});

describe.each(['http', 'worker'] as const)('a cancelled reach over %s', (protocol) => {
  it('shows the attempt that was stopped, and is over', async () => {
    const start = protocol === 'http' ? startHttpAgent : startWorkerAgent;
    const held = await start(gateway.api, { name: `held-${protocol}` });
    held.plays({ do: 'hang' });
    const { body } = await gateway.api.reach(
      { ability: held.ability, timeout_ms: 60_000 },
      { prefer: 'respond-async' },
    );
    const seen = await waitFor('the call', () => held.journal[0]);
    expect((await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`)).status).toBe(202);
    const view = (await gateway.api.ended(body.reach_id)).body;
    expect(view).toMatchObject({
      status: 'cancelled',
      attempts: [{ n: 1, agent_name: held.name, received: 'unknown', code: 'reach_terminal' }],
      error: { code: 'reach_terminal' },
    });
    expect(view.attempts).toHaveLength(1);
    await waitFor('the agent to be told', () => seen.stopped.aborted);
    expectProblem(await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`), 'reach_terminal');
    expect(held.journal).toHaveLength(1);
    await held.close();
  });

  it('shows the failed attempts before it too', async () => {
    const start = protocol === 'http' ? startHttpAgent : startWorkerAgent;
    const held = await start(gateway.api, { name: `failed-held-${protocol}` });
    held.plays({ do: 'fail', message: 'first' }, { do: 'hang' });
    const { body } = await gateway.api.reach(
      { ability: held.ability, timeout_ms: 60_000 },
      { prefer: 'respond-async' },
    );
    await waitFor('the second call', () => held.journal[1]);
    await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`);
    const view = (await gateway.api.ended(body.reach_id)).body;
    expect(view.attempts.map(({ n, code }: { n: number; code: string }) => [n, code])).toEqual([
      [1, 'agent_error'],
      [2, 'reach_terminal'],
    ]);
    await held.close();
  });
});
