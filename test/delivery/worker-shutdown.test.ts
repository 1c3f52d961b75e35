/** W07: what a worker that is told to stop, or is killed, does to the attempt in hand. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ended, ok, reach } from '../process/scripted-agent';
import { fates, openStage, type EndedView, type Stage } from './stage';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());
afterEach(() => stage.killWorkers());

const view = async (id: string) => (await ended(stage.url, id)) as unknown as EndedView;
/** As callers do: while workers come and go the platform may be behind for a moment, and asks to be tried again. */
async function send(...what: Parameters<typeof reach>): ReturnType<typeof reach> {
  for (;;) {
    const answer = await reach(...what);
    if (answer.status < 400) return answer;
    if (answer.status !== 503) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    await sleep(200);
  }
}
const answerAfter =
  (ms: number): Parameters<Awaited<ReturnType<Stage['startAgent']>>['answerWith']>[0] =>
  (call, response) =>
    void sleep(ms).then(() => ok(call, response));

it('grace ≥ work: one request, completed; the worker ends with 0 only afterwards and takes nothing new', async () => {
  const agent = await stage.startAgent({ endpoint: { timeout_ms: 25_000 } });
  let answeredAt = Infinity;
  agent.answerWith((call, response) => {
    void sleep(8_000).then(() => {
      answeredAt = performance.now();
      ok(call, response);
    });
  });
  const worker = await stage.startWorker(stage.configWith({ graceful_timeout: '30s' }));
  const order = () => send(stage.url, { ability: agent.ability, payload: {}, timeout_ms: 60_000 }, 'respond-async');
  const { body } = await order();
  await agent.received(1);
  await sleep(500);
  const exit = worker.kill('SIGTERM').then((code) => ({ code, at: performance.now() }));
  // The signal has to arrive, on a busy machine as well; what is sent after it is not this worker's any more.
  await sleep(4_000);
  const late = await order();
  const { code, at } = await exit;
  expect([code, at > answeredAt, agent.seen.length]).toEqual([0, true, 1]);
  agent.answerWith(ok);
  await stage.startWorker();
  expect(await view(body.reach_id)).toMatchObject({ status: 'completed', attempts: 1 });
  expect(await view(late.body.reach_id)).toMatchObject({ status: 'completed', attempts: 1 });
  expect(agent.seen).toHaveLength(2);
});

// `idempotent: true` with a waiting caller takes the fast path, whose attempt is a local activity.
it.each([
  ['a regular attempt', { endpoint: { timeout_ms: 25_000 } }, 'respond-async'],
  ['the fast path', { capability: { idempotent: true }, endpoint: { timeout_ms: 4_500 } }, 'wait=30'],
])('grace < work, %s: a second worker completes it with the same key', async (_what, draft, prefer) => {
  const agent = await stage.startAgent(draft);
  // A regular attempt is never answered, so that it cannot end before its worker on a machine that stalls.
  agent.answerWith(prefer === 'respond-async' ? () => undefined : answerAfter(4_000));
  const short = await stage.startWorker(stage.configWith({ graceful_timeout: '1s' }));
  const sent = send(
    stage.url,
    { ability: agent.ability, payload: {}, timeout_ms: 60_000, idempotency_key: `short-${agent.name}` },
    prefer,
  );
  await agent.received(1);
  agent.answerWith(ok);
  const exit = short.kill('SIGTERM');
  await stage.startWorker();
  expect(await exit).toBe(0);
  const { body } = await sent;
  const end = await view(body.reach_id);
  expect(end).toMatchObject({ status: 'completed' });
  expect(new Set(agent.seen.map((call) => call.body.idempotency_key))).toEqual(new Set([`short-${agent.name}`]));
  // A local attempt is short enough for the stopping worker to finish it; a regular one is made anew.
  if (prefer === 'respond-async') expect([end.attempts, agent.seen.length]).toEqual([2, 2]);
  else expect(agent.seen.length).toBeLessThanOrEqual(2);
});

it('at_most_once whose worker had to stop is not sent again', async () => {
  const agent = await stage.startAgent({ endpoint: { timeout_ms: 25_000 } });
  agent.answerWith(() => undefined);
  const short = await stage.startWorker(stage.configWith({ graceful_timeout: '500ms' }));
  const { body } = await send(
    stage.url,
    { ability: agent.ability, payload: {}, timeout_ms: 60_000, delivery_semantics: 'at_most_once' },
    'respond-async',
  );
  await agent.received(1);
  const exit = short.kill('SIGTERM');
  await stage.startWorker();
  await exit;
  const end = await view(body.reach_id);
  expect([end.status, fates(end)]).toEqual(['outcome_unknown', [['worker_lost', 'unknown']]]);
  expect(agent.seen).toHaveLength(1);
});

it('SIGKILL: recovered by the missing heartbeats, long before the attempt would time out', async () => {
  const agent = await stage.startAgent({ endpoint: { timeout_ms: 120_000 } });
  agent.answerWith(() => undefined);
  const first = await stage.startWorker();
  const { body } = await send(stage.url, { ability: agent.ability, payload: {}, timeout_ms: 300_000 }, 'respond-async');
  await agent.received(1);
  agent.answerWith(ok);
  const startedAt = performance.now();
  await first.kill('SIGKILL');
  await stage.startWorker();
  expect(await view(body.reach_id)).toMatchObject({ status: 'completed', attempts: 2 });
  expect(performance.now() - startedAt).toBeLessThan(60_000);
});
