/** One agent that hangs must not hold what the calls of the others need: slots of workflow tasks, activities, connections. */
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

/** More than a worker has slots for workflow tasks by default, and than one agent gets on the fast path. */
const CALLERS = 60;

let gateway: TestGateway;
let hanging: ScriptedHttpAgent;
let healthy: ScriptedHttpAgent;

beforeAll(async () => {
  gateway = await startGateway({ config: { breaker: { enabled: false } } });
  const endpoint = { max_retry: 0, timeout_ms: 5_000 };
  hanging = await startHttpAgent(gateway.api, { name: 'hanging', capability: { idempotent: true }, endpoint });
  healthy = await startHttpAgent(gateway.api, { name: 'healthy', capability: { idempotent: true }, endpoint });
  hanging.plays({ do: 'hang' });
  healthy.plays({ do: 'answer', output: { answer: 'here' } });
});
afterAll(async () => {
  await hanging.close();
  await healthy.close();
  await gateway.close();
});

it('the calls of a healthy agent end while many callers wait for one that hangs', async () => {
  let ended = 0;
  const waiting = Array.from({ length: CALLERS }, () =>
    gateway.api
      .reach({ ability: hanging.ability, timeout_ms: 20_000 }, { prefer: 'wait=15' })
      .finally(() => (ended += 1)),
  );
  await waitFor('most of them at the agent', () => hanging.journal.length >= 45, 30_000);
  for (let n = 0; n < 5; n += 1) {
    const answer = await gateway.api.reach({ ability: healthy.ability });
    expect(answer.body).toMatchObject({ status: 'completed', answer: 'here' });
  }
  // Some may be over by then on a slow machine; with the lane full of them, all would be.
  expect(ended).toBeLessThan(CALLERS);
  await Promise.all(waiting);
});
