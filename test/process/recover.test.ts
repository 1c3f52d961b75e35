import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Client, Connection } from '@temporalio/client';
import { startCli } from '../cli/cli-process';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { temporalAddress } from '../support/temporal';
import { waitFor } from '../support/wait-for';

let front: TestGateway;
let agent: ScriptedHttpAgent;
let connection: Connection;

/** An outage is what this is about: nothing may refuse the reaches that are to suffer from it. */
const config = { breaker: { enabled: false }, backpressure: { max_backlog_age: 600_000 } };

beforeEach(async () => {
  front = await startGateway({ withWorker: false, config });
  agent = await startHttpAgent(front.api, { name: 'desk', endpoint: { max_retry: 0 } });
  connection = await Connection.connect({ address: temporalAddress() });
});
afterEach(async () => {
  await agent.close();
  await front.close();
  await connection.close();
});

/** Runs the CLI as an operator does. */
async function agentReach(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const child = startCli(args, { stdio: ['ignore', 'pipe', 'pipe'], env: { AGENT_REACH_URL: front.url } });
  const [out, err, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'exit')]);
  return { code: code as number, out, err };
}

it('brings back everything that an outage has left behind, once', async () => {
  // Lists are those of all platforms on this Temporal.
  const source = `the-outage-${randomUUID()}`;
  const send = (more: object = {}, prefer = 'respond-async') =>
    front.api.reach({ ability: agent.ability, source_agent: source, ...more }, { prefer });
  // No worker at all: the run times out before anybody has looked at it.
  const timedOut = (await send({ timeout_ms: 2_000 })).body.reach_id as string;
  const terminated = (await send({ timeout_ms: 60_000 })).body.reach_id as string;
  await new Client({ connection }).workflow.getHandle(terminated).terminate('the cluster was rebuilt');
  expect((await front.api.ended(timedOut)).body).toMatchObject({ status: 'expired', attempts: [] });
  const back = await startGateway({ platform: front.platform, config });
  agent.plays({ do: 'fail', message: 'out of order' });
  const failed = (await send({}, 'wait=20')).body.reach_id as string;
  const once = (await send({ delivery_semantics: 'at_most_once', timeout_ms: 60_000 }, 'wait=20')).body
    .reach_id as string;

  const all = [timedOut, terminated, failed, once];
  expect(all).not.toContain(undefined);
  const dry = await waitFor(
    'all four in the list',
    async () => {
      const { code, out } = await agentReach('recover', '--source', source, '--dry-run', '--json');
      const found = JSON.parse(out) as { matched: number; would_redrive: { reach_id: string }[] };
      return code === 0 && found.matched === 4 ? found : undefined;
    },
    20_000,
  );
  expect(new Set(dry.would_redrive.map(({ reach_id }) => reach_id))).toEqual(new Set(all));
  expect(agent.journal).toHaveLength(2);

  agent.plays();
  const [one, two] = await Promise.all([
    agentReach('recover', '--source', source, '--json', '--by', 'ops'),
    agentReach('recover', '--source', source, '--json', '--by', 'ops'),
  ]);
  expect([one?.code, two?.code, one?.err, two?.err]).toEqual([0, 0, '', '']);
  for (const id of all) {
    const { body } = await front.api.ended(id);
    expect([id, body.status, body.attempts]).toEqual([id, 'completed', 1]);
  }
  // Four reaches, four calls: pressing twice did not send twice.
  expect(agent.journal).toHaveLength(4);
  for (const id of all) {
    // Who pressed is noted right after the reset.
    const letter = await waitFor(
      `who redrove ${id}`,
      async () => {
        const { body } = await front.api.get(`/v1/dead-letters/${id}`);
        return body.redrives?.[0]?.by === 'ops' && (body as object);
      },
      30_000,
    );
    expect(letter).toMatchObject({ state: 'redriven', redrives: [{ by: 'ops' }] });
  }
  expect(await agentReach('recover', '--source', source)).toEqual({ code: 0, out: 'No dead letters.\n', err: '' });
  await back.close();
});

it('says with 3 that the platform cannot be reached', async () => {
  const { code, err } = await agentReach('recover', '--url', 'http://127.0.0.1:9');
  expect([code, err]).toEqual([3, expect.stringContaining('cannot be reached')]);
});
