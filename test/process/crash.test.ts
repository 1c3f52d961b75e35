import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { locateEngine } from '../../src/engines';
import { startRoot, writeConfig, type PlatformProcess } from './platform-process';
import { ended, ok, reach, registerAgent, startScriptedAgent, type ScriptedAgent } from './scripted-agent';

const run = promisify(execFile);

let gateway: PlatformProcess;
let config: string;
let agent: ScriptedAgent;

beforeAll(async () => {
  config = writeConfig();
  gateway = await startRoot('gateway', ['--config', config, '--no-worker']);
});
afterAll(async () => {
  await expect(gateway.kill('SIGTERM')).resolves.toBe(0);
});
beforeEach(async () => {
  agent = await startScriptedAgent();
});
afterEach(() => agent.close());

let serial = 0;
const newAbility = async (more: { capability?: object; endpoint?: object } = {}) => {
  serial += 1;
  const ability = `work-${serial}`;
  await registerAgent(gateway.ready, `agent-${serial}`, {
    url: agent.url,
    ...more,
    capability: { name: ability, ...more.capability },
  });
  return ability;
};

describe('a worker that is killed', () => {
  it('in the middle of an attempt: another one finishes the reach, with the same key, and the loss is on record', async () => {
    const ability = await newAbility();
    const first = await startRoot('worker', ['--config', config]);
    agent.answerWith(() => undefined);
    const receipt = await reach(gateway.ready, { ability, payload: {}, timeout_ms: 60_000 }, 'respond-async');
    await agent.received(1);
    await first.kill('SIGKILL');
    agent.answerWith(ok);
    const second = await startRoot('worker', ['--config', config]);
    const view = await ended(gateway.ready, receipt.body.reach_id);
    expect(view).toMatchObject({ status: 'completed', attempts: 2 });
    expect(new Set(agent.seen.map(({ body }) => body.idempotency_key)).size).toBe(1);
    expect(agent.seen.map(({ body }) => body.attempt)).toEqual([1, 2]);
    const trace = (await (await fetch(`${gateway.ready}/v1/reaches/${receipt.body.reach_id}/trace`)).json()) as {
      hops: { name: string; outcome: string }[];
    };
    expect(trace.hops.filter(({ name }) => name === 'invoke').map(({ outcome }) => outcome)).toEqual([
      'worker_lost',
      'ok',
    ]);
    await second.kill('SIGTERM');
  });

  it('with at_most_once: the reach ends as outcome_unknown and is not sent again', async () => {
    const ability = await newAbility();
    const first = await startRoot('worker', ['--config', config]);
    agent.answerWith(() => undefined);
    const receipt = await reach(
      gateway.ready,
      { ability, payload: {}, timeout_ms: 60_000, delivery_semantics: 'at_most_once' },
      'respond-async',
    );
    await agent.received(1);
    await first.kill('SIGKILL');
    const second = await startRoot('worker', ['--config', config]);
    await expect(ended(gateway.ready, receipt.body.reach_id)).resolves.toMatchObject({
      status: 'outcome_unknown',
      error: { code: 'worker_lost', retryable: false, reach_status: 'outcome_unknown' },
    });
    expect(agent.seen).toHaveLength(1);
    await second.kill('SIGTERM');
  });
});

describe('a failed run', () => {
  it('is recovered with `temporal workflow reset`, under the same id and with a fresh budget', async () => {
    const ability = await newAbility();
    const worker = await startRoot('worker', ['--config', config]);
    agent.answerWith((_call, response) => void response.writeHead(422).end('not today'));
    const failed = await reach(gateway.ready, { ability, payload: {} });
    expect(failed).toMatchObject({ status: 502, body: { code: 'agent_rejected' } });
    const id = failed.body.reach_id;
    await expect(ended(gateway.ready, id)).resolves.toMatchObject({ status: 'dead_lettered' });

    agent.answerWith(ok);
    const { path } = await locateEngine('temporal', {});
    const address = ['--address', process.env.TEST_TEMPORAL_ADDRESS ?? ''];
    await run(path, [
      'workflow',
      'reset',
      ...address,
      '--workflow-id',
      id,
      '--type',
      'FirstWorkflowTask',
      '--reason',
      'the agent was mended',
    ]);
    await expect(ended(gateway.ready, id)).resolves.toMatchObject({ status: 'completed', reach_id: id });
    expect(agent.seen).toHaveLength(2);
    // Lists are eventually consistent; in the end the recovered reach is no dead letter any more.
    const listed = async (status: string) => {
      const response = await fetch(`${gateway.ready}/v1/reaches?status=${status}&ability=${ability}`);
      return ((await response.json()) as { items: { reach_id: string }[] }).items.map(({ reach_id }) => reach_id);
    };
    while (!(await listed('completed')).includes(id)) await new Promise((done) => setTimeout(done, 100));
    while ((await listed('dead_lettered')).length > 0) await new Promise((done) => setTimeout(done, 100));
    await worker.kill('SIGTERM');
  });
});

describe('an agent that is gone', () => {
  it('loses its traffic to the other one that offers the ability', async () => {
    const ability = await newAbility({ capability: { idempotent: true }, endpoint: { max_retry: 1 } });
    const other = await startScriptedAgent();
    const standIn = `stand-in-${serial}`;
    await registerAgent(gateway.ready, standIn, { url: other.url, capability: { name: ability, idempotent: true } });
    const worker = await startRoot('worker', ['--config', config]);
    await agent.close();
    for (let i = 0; i < 4; i += 1) {
      const { status, body } = await reach(gateway.ready, { ability, payload: { i } }, 'wait=20');
      expect([status, body.status]).toEqual([200, 'completed']);
      expect(body).toMatchObject({ agent_name: standIn });
    }
    await worker.kill('SIGTERM');
    await other.close();
  });
});
