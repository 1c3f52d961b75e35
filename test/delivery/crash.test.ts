/** Fault 1 of delivery: the only worker is killed while an agent has the call (R4, R7, W08). */
import { randomUUID } from 'node:crypto';
import { ReachAgent } from '../../src/sdk/agent';
import { ended, ok, reach, type SeenCall } from '../process/scripted-agent';
import { quietLog } from '../sdk/scripted-registry';
import { waitFor } from '../support/wait-for';
import { fates, openStage, quietFor, type EndedView, type Stage } from './stage';

let stage: Stage;
const agents: ReachAgent[] = [];

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop()));
  await stage.killWorkers();
});

const view = async (id: string) => (await ended(stage.url, id)) as unknown as EndedView;
const fenceOf = ({ body }: SeenCall) => (body as unknown as { fence: string }).fence;
const hold = () => undefined;

it('at_most_once: one request, outcome_unknown, and no second worker calls again', async () => {
  const agent = await stage.startAgent();
  agent.answerWith(hold);
  const first = await stage.startWorker();
  const { body } = await reach(
    stage.url,
    { ability: agent.ability, payload: {}, timeout_ms: 60_000, delivery_semantics: 'at_most_once' },
    'respond-async',
  );
  await agent.received(1);
  await first.kill('SIGKILL');
  await stage.startWorker();
  const end = await view(body.reach_id);
  expect(end).toMatchObject({ status: 'outcome_unknown', error: { code: 'worker_lost', retryable: false } });
  expect(fates(end)).toEqual([['worker_lost', 'unknown']]);
  await expect(quietFor(1_500, agent.received(2))).resolves.toBe('quiet');
});

it.each(['at_least_once', 'exactly_once'])(
  '%s: a second request with the same key and a greater fence',
  async (delivery_semantics) => {
    const agent = await stage.startAgent();
    agent.answerWith(hold);
    const first = await stage.startWorker();
    const key = `crash-${delivery_semantics}-${randomUUID()}`;
    const { body } = await reach(
      stage.url,
      { ability: agent.ability, payload: {}, timeout_ms: 60_000, delivery_semantics, idempotency_key: key },
      'respond-async',
    );
    await agent.received(1);
    await first.kill('SIGKILL');
    agent.answerWith(ok);
    await stage.startWorker();
    const end = await view(body.reach_id);
    expect([end.error, end.status, end.attempts]).toEqual([undefined, 'completed', 2]);
    expect(agent.seen.map((call) => [call.body.attempt, call.body.idempotency_key])).toEqual([
      [1, key],
      [2, key],
    ]);
    expect(fenceOf(agent.seen[1]!) > fenceOf(agent.seen[0]!)).toBe(true);
    expect(fenceOf(agent.seen[0]!)).toMatch(/^\d{19}$/);
  },
);

it.each(['at_least_once', 'exactly_once'])(
  '%s with the SDK: what succeeded while its answer had nobody to go to is done once',
  async (delivery_semantics) => {
    const name = `once-${delivery_semantics.replaceAll('_', '-')}`;
    const log = quietLog();
    let runs = 0;
    let finish: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (finish = resolve));
    const agent = new ReachAgent({
      descriptor: {
        name,
        version: '1.0.0',
        capabilities: [{ name: `${name}.work`, description: 'works' }],
        endpoint: { protocol: 'http' },
      },
      gateway: stage.url,
      log,
      handlers: {
        [`${name}.work`]: async () => {
          runs += 1;
          await held;
          return { run: runs };
        },
      },
    });
    agents.push(agent);
    await agent.start();
    const first = await stage.startWorker();
    const { body } = await reach(
      stage.url,
      {
        ability: `${name}.work`,
        payload: {},
        timeout_ms: 60_000,
        delivery_semantics,
        idempotency_key: `k-${name}-${randomUUID()}`,
      },
      'respond-async',
    );
    await waitFor('the handler', () => runs === 1);
    await first.kill('SIGKILL');
    finish();
    await waitFor('the end of the first delivery', () => agent.inFlight === 0);
    await stage.startWorker();
    expect(await view(body.reach_id)).toMatchObject({ status: 'completed', attempts: 2, output: { run: 1 } });
    expect(runs).toBe(1);
    expect(log.lines.filter(({ message }) => message === 'answered from the deduplication store')).toEqual([
      expect.objectContaining({ fields: expect.objectContaining({ reach_id: body.reach_id, attempt: 2 }) }),
    ]);
  },
);

it('W08: a message that kills every worker is started 1 + max_retry times; others on the queue go on', async () => {
  const poison = await stage.startAgent({ endpoint: { max_retry: 2 } });
  const good = await stage.startAgent();
  let worker = await stage.startWorker();
  let kills: Promise<unknown> = Promise.resolve();
  // The supervisor: each start of the message costs the worker its life, and another one follows.
  poison.answerWith(() => {
    kills = kills.then(async () => {
      await worker.kill('SIGKILL');
      worker = await stage.startWorker();
    });
  });
  const { body } = await reach(
    stage.url,
    { ability: poison.ability, payload: {}, timeout_ms: 100_000 },
    'respond-async',
  );
  await poison.received(1);
  const others = await Promise.all(
    [1, 2, 3].map((n) =>
      reach(stage.url, { ability: good.ability, payload: { n }, timeout_ms: 60_000 }, 'respond-async'),
    ),
  );
  const end = await view(body.reach_id);
  expect(end).toMatchObject({ status: 'dead_lettered', error: { code: 'worker_lost', retryable: false } });
  expect(fates(end)).toEqual(Array.from({ length: 3 }, () => ['worker_lost', 'unknown']));
  expect(poison.seen.map((call) => call.body.attempt)).toEqual([1, 2, 3]);
  for (const other of others) expect(await view(other.body.reach_id)).toMatchObject({ status: 'completed' });
  const letter = await fetch(`${stage.url}/v1/dead-letters/${body.reach_id}`);
  expect([letter.status, await letter.json()]).toEqual([
    200,
    expect.objectContaining({ error: expect.objectContaining({ code: 'worker_lost' }) }),
  ]);
  await kills;
});
