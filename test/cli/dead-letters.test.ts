import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';
import { cli } from './cli-io';

// The real gateway: what these commands say must be true of it.
let gateway: TestGateway;
let agent: ScriptedHttpAgent;

beforeAll(async () => {
  const config = { breaker: { enabled: false }, ejection: { consecutive_failures: 1_000 } };
  gateway = await startGateway({ apiKey: 'canary-8c1f', config });
  agent = await startHttpAgent(gateway.api, { name: 'desk', endpoint: { max_retry: 1 } });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});
beforeEach(() => agent.plays());

const env = () => ({ AGENT_REACH_URL: gateway.url, AGENT_REACH_API_KEY: 'canary-8c1f' });
const letters = (args: string[], options: Parameters<typeof cli>[1] = {}) =>
  cli(['dead-letters', ...args], { env: env(), ...options });
const json = async (args: string[]) => {
  const ran = await letters([...args, '--json']);
  expect(ran.err).toBe('');
  return { ...ran, body: JSON.parse(ran.out) };
};

let serial = 0;
/** Dead letters of a sender of their own, once the list has them. */
async function failed(n = 1, more: object = {}): Promise<{ source: string; ids: string[] }> {
  const source = `cli-${(serial += 1)}`;
  const ids: string[] = [];
  for (let i = 0; i < n; i += 1) {
    const { body } = await gateway.api.reach({ ability: agent.ability, source_agent: source, ...more });
    ids.push(body.reach_id as string);
  }
  await waitFor('them in the list', async () => (await json(['list', '--source', source])).body.items.length === n);
  return { source, ids };
}

it('lists them in a table, and names the next page', async () => {
  agent.plays({ do: 'fail', message: 'db down' });
  const { source, ids } = await failed(3);
  const { code, out } = await letters(['list', '--source', source]);
  expect(code).toBe(0);
  expect(out).toMatch(/^REACH\s+STATUS\s+CODE\s+AGENT\s+FROM\s+ATTEMPTS\s+REDRIVES\s+FAILED\s+EXPIRES\s+WHY$/m);
  for (const id of ids)
    expect(out).toMatch(
      new RegExp(
        `^${id}  dead_lettered  agent_error  desk#1.0.0  ${source}\\s+2\\s+-\\s+\\d+ s ago\\s+in 7 d\\s.*db down`,
        'm',
      ),
    );
  const page = await letters(['list', '--source', source, '--limit', '2']);
  const cursor = /more: --cursor (\S+)/.exec(page.out)?.[1] ?? '';
  const { body } = await json(['list', '--source', source, '--limit', '2', '--cursor', cursor]);
  expect(body.items.map(({ reach_id }: { reach_id: string }) => reach_id)).toEqual([ids[0]]);
  expect((await letters(['list', '--source', 'nobody'])).out).toBe('No dead letters.\n');
  expect((await letters(['list', '--state', 'closed'])).code).toBe(2);
});

it('shows the whole story, with what to do next', async () => {
  agent.plays({ do: 'fail', message: 'db \u001b[2Jdown' });
  const { ids, source } = await failed(1, { payload: { order: 'O-17', text: '退款\u202e' }, metadata: {} });
  const [id = ''] = ids;
  const { code, out } = await letters(['show', id]);
  expect(code).toBe(0);
  for (const line of [
    `reach      ${id}`,
    'state      open',
    'status     dead_lettered',
    'why        agent_error (transient)  ',
    `from       ${source}`,
    'semantics  at_least_once',
    'attempts   2',
    'desk is the only agent that can take desk.work',
    '"order": "O-17"',
    `agent-reach dead-letters redrive ${id}\n`,
    `temporal workflow reset --workflow-id ${id} --type FirstWorkflowTask --reapply-exclude All --reason 'why'`,
    `agent-reach dead-letters discard ${id} --reason 'why'`,
  ])
    expect(out).toContain(line);
  expect(out).toMatch(/^1  desk#1\.0\.0  desk-1\s+\S+Z\s+\d+ ms\s+yes\s+agent_error\s+.*down/m);
  expect(out).toMatch(/^expires\s+\S+Z \(in 7 d\)$/m);
  // Neither agents nor senders may move the cursor or turn the reading order.
  expect(out).not.toMatch(/[\u001b\u202e]/);
  const { body } = await json(['show', id]);
  expect(body).toMatchObject({ reach_id: id, envelope: { payload: { order: 'O-17', text: '退款\u202e' } } });
  // No secret of the platform: nothing of the API key or of tokens.
  expect(JSON.stringify(body)).not.toMatch(/canary-8c1f|token|eyJ/);
});

it('says what a reach is that is no dead letter', async () => {
  const { body } = await gateway.api.reach({ ability: agent.ability });
  const { code, err } = await letters(['show', body.reach_id]);
  expect([code, err]).toEqual([1, expect.stringContaining('reach is completed')]);
});

describe('redrive', () => {
  it('runs one again, and says so when it was before', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const { ids } = await failed();
    const [id = ''] = ids;
    agent.plays();
    const first = await letters(['redrive', id, '--by', 'ann']);
    expect([first.code, first.err]).toEqual([0, '']);
    expect(first.out).toMatch(
      new RegExp(`^✓ ${id}  redriven, run \\S+\n1 dead letter: 1 redriven, 0 skipped, 0 failed\n`),
    );
    expect((await gateway.api.ended(id)).body.status).toBe('completed');
    expect((await letters(['redrive', id])).out).toContain('was redriven before');
    expect(agent.journal).toHaveLength(1);
    const story = await letters(['show', id]);
    expect(story.out).toContain('state      redriven; now completed');
    expect(story.out).toMatch(/\S+Z  ann  \S+  \S+/);
  });

  it('takes all that fit, after a look and a yes, with a bar', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const { ids, source } = await failed(5);
    const all = ['redrive', '--all', '--source', source];
    const asked = await letters(all);
    expect([asked.code, asked.out]).toEqual([2, '']);
    expect(asked.err).toContain('5 dead letters would be redriven: add --yes');
    expect((await letters([...all, '--dry-run'])).out.split('\n').filter((line) => line.startsWith('r-'))).toHaveLength(
      5,
    );
    expect((await json([...all, '--code', 'agent_timeout', '--yes'])).body).toMatchObject({ matched: 0 });
    agent.plays();
    const { code, out, err } = await letters([...all, '--yes'], { errColumns: 80 });
    expect(code).toBe(0);
    expect(out).toContain('5 dead letters: 5 redriven, 0 skipped, 0 failed');
    expect(err).toContain('0/5 redriving');
    expect(err).toContain(`${'█'.repeat(24)} 5/5 redriving`);
    for (const id of ids) expect((await gateway.api.ended(id)).body.status).toBe('completed');
    expect(agent.journal).toHaveLength(5);
    expect((await letters([...all, '--yes'])).out).toBe('No dead letters.\n');
  });

  it('asks for consent where the work may have been done', async () => {
    agent.plays({ do: 'reset', when: 'before_headers' });
    const { ids, source } = await failed(1, { delivery_semantics: 'at_most_once' });
    const [id = ''] = ids;
    expect((await letters(['show', id])).out).toContain(`agent-reach dead-letters redrive ${id} --accept-repeat`);
    const refused = await letters(['redrive', id]);
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('accept_repeat')]);
    const all = ['redrive', '--all', '--source', source];
    const looked = await json([...all, '--dry-run']);
    expect(looked.body).toMatchObject({ matched: 1, would_redrive: [], skipped: [{ reach_id: id }] });
    expect((await letters([...all, '--dry-run'])).out).toContain('1 dead letter: 0 would be redriven, 1 skipped');
    const accepted = await json([...all, '--dry-run', '--accept-repeat']);
    expect(accepted.body).toMatchObject({ would_redrive: [{ reach_id: id }], skipped: [] });
    const skipped = await json([...all, '--yes']);
    expect([skipped.code, skipped.body.skipped]).toEqual([0, [{ reach_id: id, reason: expect.any(String) }]]);
    agent.plays();
    const { body } = await json(['redrive', id, '--accept-repeat']);
    expect(body).toMatchObject({ matched: 1, redriven: [{ reach_id: id, replayed: false }], skipped: [], failed: [] });
  });

  it.each([
    [['redrive'], 'name the reach ids, or say --all'],
    [['redrive', 'r-1', '--all'], 'not both'],
    [['redrive', 'r-1', '--agent', 'desk'], 'add --all'],
  ])('refuses %j as usage', async (args, text) => {
    const { code, err } = await letters(args);
    expect([code, err]).toEqual([2, expect.stringContaining(text)]);
  });

  it('ends with 1 when one of them is unknown, and does the others', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const { ids } = await failed();
    const { code, body } = await json(['redrive', 'r-unknown', ...ids]);
    expect([code, body.failed, body.redriven]).toEqual([
      1,
      [{ reach_id: 'r-unknown', error: expect.objectContaining({ code: 'not_found' }) }],
      [expect.objectContaining({ reach_id: ids[0] })],
    ]);
  });
});

it('gives one up, for good', async () => {
  agent.plays({ do: 'reject', message: 'no' });
  const { ids, source } = await failed();
  const [id = ''] = ids;
  expect((await letters(['discard', id])).code).toBe(2);
  expect((await letters(['discard', id, '--reason', 'cancelled'])).out).toBe(`✓ ${id}  discarded\n`);
  expect((await letters(['discard', id, '--reason', 'again'])).out).toContain(
    'was discarded before by api-key: cancelled',
  );
  expect((await letters(['list', '--source', source])).out).toBe('No dead letters.\n');
  expect((await letters(['list', '--source', source, '--state', 'discarded'])).out).toContain('discarded: cancelled');
  expect((await letters(['redrive', id])).code).toBe(1);
});

it.each([['list'], ['show'], ['redrive'], ['discard']])('has help with examples for %s', async (name) => {
  const { code, out } = await letters([name, '--help']);
  expect(code).toBe(0);
  expect(out).toContain('$ agent-reach dead-letters');
  expect(out).toContain('--json');
});
