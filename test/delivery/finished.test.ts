/** W03: what is over stays over, for its key and for whoever still wants to change it, also after a restart of everything. */
import { randomUUID } from 'node:crypto';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type HttpStep, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

let gateway: TestGateway;
let agent: ScriptedHttpAgent;

beforeAll(async () => {
  gateway = await startGateway();
  agent = await startHttpAgent(gateway.api, { name: 'finisher', endpoint: { max_retry: 0 } });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});

const ENDS: [string, HttpStep][] = [
  ['completed', { do: 'answer', output: { answer: 'done' } }],
  ['dead_lettered', { do: 'reject', message: 'never' }],
  ['cancelled', { do: 'hang' }],
];

it('repeats, cancellations and late results of ended reaches change nothing, before and after a restart', async () => {
  const ended: { id: string; key: string; status: string; token: string }[] = [];
  for (const [status, step] of ENDS) {
    agent.plays(step);
    const key = randomUUID();
    const { body } = await gateway.api.reach(
      { ability: agent.ability, idempotency_key: key },
      { prefer: 'respond-async' },
    );
    const seen = await waitFor('the call', () => agent.journal[0]);
    if (status === 'cancelled') await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`);
    expect((await gateway.api.ended(body.reach_id)).body.status).toBe(status);
    ended.push({ id: body.reach_id as string, key, status, token: seen.headers['x-reach-token']! });
  }
  agent.plays({ do: 'answer', output: { answer: 'never asked' } });
  const views = await Promise.all(ended.map(async ({ id }) => (await gateway.api.get(`/v1/reaches/${id}`)).body));

  for (const restart of [false, true]) {
    if (restart) {
      await gateway.close();
      gateway = await startGateway({ platform: gateway.platform });
    }
    for (const [index, { id, key, status, token }] of ended.entries()) {
      const again = await gateway.api.reach({ ability: agent.ability, idempotency_key: key });
      expect(again.body).toMatchObject({ reach_id: id, replayed: true });
      expect(again.status).toBe({ completed: 200, dead_lettered: 502, cancelled: 409 }[status]);

      expectProblem(await gateway.api.post(`/v1/reaches/${id}:cancel`), 'reach_terminal');
      const late = await gateway.api.post(
        `/v1/reaches/${id}/result`,
        { output: { answer: 'too late' } },
        { headers: { 'x-reach-token': token } },
      );
      expectProblem(late, 'reach_terminal');
      expect((await gateway.api.get(`/v1/reaches/${id}`)).body).toEqual(views[index]);
    }
  }
  expect(agent.journal).toHaveLength(0);
});
