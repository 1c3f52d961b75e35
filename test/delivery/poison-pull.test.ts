/** W08 on the agent's side: a message that kills the agent's own worker counts every start. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway, type TestGateway } from '../support/gateway';
import { waitFor } from '../support/wait-for';

const NAME = 'fragile';
const ABILITY = 'fragile.work';

let gateway: TestGateway;
let journal: string;
let child: ChildProcess;
let restarts = 0;
let supervised = true;

/** Starts the agent, and again whenever it died, as systemd or Kubernetes would. */
function supervise(): void {
  child = spawn(process.execPath, [join(__dirname, 'aborting-agent.cjs'), gateway.url, NAME, ABILITY, journal], {
    stdio: 'ignore',
  });
  child.once('exit', () => {
    if (!supervised) return;
    restarts += 1;
    supervise();
  });
}

beforeAll(async () => {
  gateway = await startGateway();
  journal = join(mkdtempSync(join(tmpdir(), 'agent-reach-poison-')), 'journal');
  writeFileSync(journal, '');
  supervise();
  await waitFor('the agent', async () => (await gateway.api.get(`/v1/agents/${NAME}`)).body.status === 'ready', 30_000);
});
afterAll(async () => {
  supervised = false;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
  await gateway.close();
});

it('ends it as a dead letter after 1 + max_retry starts, and the queue goes on', async () => {
  writeFileSync(journal, ''); // of a first run that failed
  const send = (payload: object) =>
    gateway.api.reach({ ability: ABILITY, payload, timeout_ms: 100_000 }, { prefer: 'respond-async' });
  const poison = await send({ poison: true });
  await waitFor('the first start', () => readFileSync(journal, 'utf8').includes('poison'));
  const others = await Promise.all([1, 2, 3].map((n) => send({ n })));
  const end = await waitFor(
    'the end of the poisoned reach',
    async () => {
      const { body } = await gateway.api.ended(poison.body.reach_id);
      return body.status === 'running' ? null : body;
    },
    100_000,
  );
  expect(end).toMatchObject({ status: 'dead_lettered', error: { code: 'worker_lost', retryable: false } });
  const attempts = end.attempts as { n: number; code: string; received: string; instance: string | null }[];
  expect(attempts.map(({ n, code }) => [n, code])).toEqual([
    [1, 'worker_lost'],
    [2, 'worker_lost'],
    [3, 'worker_lost'],
  ]);
  // An agent that dies before its first heartbeat has left the process leaves nobody who knows.
  for (const { received } of attempts) expect(['yes', 'unknown']).toContain(received);
  // Each start was another process.
  const named = attempts.flatMap(({ instance }) => instance ?? []);
  expect(new Set(named).size).toBe(named.length);
  const starts = readFileSync(journal, 'utf8').split('\n');
  expect(starts.filter((line) => line.includes('poison'))).toHaveLength(3);
  for (const { body } of others)
    expect((await gateway.api.ended(body.reach_id)).body).toMatchObject({ status: 'completed' });
  expect(restarts).toBeGreaterThanOrEqual(3);
});
