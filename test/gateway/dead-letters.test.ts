import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { locateEngine } from '../../src/engines';
import type { BulkRedriveResult, DeadLetter, DeadLetterItem, RedriveReceipt } from '../../src/protocol/dead-letter';
import { createEtcd } from '../../src/registry';
import { Keyspace } from '../../src/registry/keys';
import { DeadLettersClient } from '../../src/sdk/dead-letters';
import { temporalAddress } from '../support/temporal';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

const run = promisify(execFile);

const DAY_MS = 86_400_000;
let gateway: TestGateway;
let other: TestGateway;
let agent: ScriptedHttpAgent;
let booking: ScriptedHttpAgent;
let connection: Connection;
let client: Client;
const etcd = createEtcd({ hosts: process.env.TEST_ETCD_ADDRESS ?? '' });

// The agent fails for many reaches in a row here: nothing is to protect it.
const config = { breaker: { enabled: false }, ejection: { consecutive_failures: 1_000 } };

beforeAll(async () => {
  gateway = await startGateway({ config });
  other = await startGateway({ platform: gateway.platform, withWorker: false, config });
  agent = await startHttpAgent(gateway.api, { name: 'desk', endpoint: { max_retry: 2 } });
  booking = await startHttpAgent(gateway.api, { name: 'booking', capability: { idempotent: false } });
  connection = await Connection.connect({ address: temporalAddress() });
  client = new Client({ connection });
});
afterAll(async () => {
  await Promise.all([agent.close(), booking.close()]);
  await Promise.all([gateway.close(), other.close()]);
  await connection.close();
  etcd.close();
});
beforeEach(() => agent.plays());

const redrivePath = (id: string) => `/v1/dead-letters/${id}:redrive`;
const show = async (id: string) => (await gateway.api.get(`/v1/dead-letters/${id}`)).body as DeadLetter;
const view = async (id: string) => (await gateway.api.ended(id)).body as { status: string };
const list = async (query: Record<string, string>): Promise<{ items: DeadLetterItem[]; next_cursor?: string }> => {
  const { status, body, text } = await gateway.api.get(`/v1/dead-letters?${new URLSearchParams(query)}`);
  if (status !== 200) throw new Error(text);
  return body;
};
const ids = (page: { items: DeadLetterItem[] }) => page.items.map(({ reach_id }) => reach_id);
/** Lists are eventually consistent: waits until the open ones of a sender are these. */
const listed = (source: string, wanted: string[], more: Record<string, string> = {}) =>
  waitFor(`${wanted.length} dead letters in the list`, async () => {
    const page = await list({ source, ...more });
    return page.items.length === wanted.length && ids(page).every((id) => wanted.includes(id)) ? page : undefined;
  });

let serial = 0;
const newSource = () => `sender-${(serial += 1)}`;

/** A reach that ends badly; its id. */
async function failed(envelope: object = {}): Promise<string> {
  const { body } = await gateway.api.reach({ ability: agent.ability, ...envelope });
  expect(body.status).toBeGreaterThanOrEqual(500);
  return body.reach_id as string;
}

describe('a message that could not be delivered', () => {
  it('is kept with its payload, its attempts, its last error and its decision', async () => {
    agent.plays({ do: 'fail', message: 'db down' });
    const source = newSource();
    const payload = { order: 'O-17', text: '退款' };
    const idempotency_key = `O-17-${randomUUID()}`;
    const id = await failed({ payload, source_agent: source, metadata: { origin: 'shop' }, idempotency_key });
    expect(agent.journal).toHaveLength(3);
    const letter = await show(id);
    const { body: ended } = await gateway.api.get(`/v1/reaches/${id}`);
    expect(letter).toMatchObject({
      reach_id: id,
      state: 'open',
      status: 'dead_lettered',
      ability: 'desk.work',
      agent_name: 'desk',
      agent_version: '1.0.0',
      source_agent: source,
      failed_at: ended.ended_at,
      error: { code: 'agent_error', message: expect.stringContaining('db down'), class: 'transient' },
      envelope: { payload, metadata: { origin: 'shop' }, idempotency_key, message_id: ended.message_id },
      decision_id: ended.decision_id,
      decision: { decision_id: ended.decision_id, strategy: 'score_based', chosen: { agent_name: 'desk' } },
      attempts_before: 0,
      redrives: [],
      needs_accept_repeat: false,
      current_run: { run_id: letter.run_id, status: 'dead_lettered' },
      links: { self: `/v1/reaches/${id}` },
    });
    expect(letter.attempts.map(({ n, code, instance, received }) => [n, code, instance, received])).toEqual([
      [1, 'agent_error', 'desk-1', 'yes'],
      [2, 'agent_error', 'desk-1', 'yes'],
      [3, 'agent_error', 'desk-1', 'yes'],
    ]);
    expect(letter.discard).toBeUndefined();
    // The engines of the tests keep finished runs for seven days.
    expect(Date.parse(letter.expires_at) - Date.parse(letter.failed_at)).toBe(7 * DAY_MS);
    const page = await listed(source, [id]);
    const { envelope, decision, attempts_before, needs_accept_repeat, current_run, links, ...item } = letter;
    expect(page.items).toEqual([item]);
    expect([envelope, decision, attempts_before, needs_accept_repeat, current_run, links]).not.toContain(undefined);
    expect(page).toMatchObject({ consistency: 'eventual' });
  });

  it('survives a restart of every gateway', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const id = await failed();
    const fresh = await startGateway({ platform: gateway.platform, withWorker: false });
    expect((await fresh.api.get(`/v1/dead-letters/${id}`)).body).toMatchObject({
      reach_id: id,
      error: { code: 'agent_rejected', class: 'deterministic' },
      attempts: [{ n: 1, code: 'agent_rejected' }],
    });
    await fresh.close();
  });

  it('does not keep good ones behind it from being delivered', async () => {
    agent.playsFor('poison', { do: 'reject', message: 'poison' });
    const poison = await failed({ payload: { case: 'poison' } });
    const good = await Promise.all(
      Array.from({ length: 10 }, (_, n) => gateway.api.reach({ ability: agent.ability, payload: { n } })),
    );
    expect(good.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect((await show(poison)).attempts).toHaveLength(1);
  });

  it('also when its time was over, or an operator ended it', async () => {
    agent.plays({ do: 'accept' });
    const source = newSource();
    // Its redrive has that time once more, in which it must complete.
    const expired = await failed({ timeout_ms: 4_000, source_agent: source });
    const { body } = await gateway.api.reach(
      { ability: agent.ability, timeout_ms: 30_000, source_agent: source },
      { prefer: 'respond-async' },
    );
    await client.workflow.getHandle(body.reach_id).terminate('stuck, OPS-7');
    await listed(source, [expired, body.reach_id]);
    expect(await show(expired)).toMatchObject({
      status: 'expired',
      error: { code: 'deadline_exceeded', class: 'terminal' },
    });
    expect(await show(body.reach_id)).toMatchObject({
      status: 'dead_lettered',
      error: { code: 'internal', message: expect.stringContaining('stuck, OPS-7') },
    });
    expect(ids(await list({ source, status: 'expired' }))).toEqual([expired]);
    expect(ids(await list({ source, status: 'dead_lettered' }))).toEqual([body.reach_id]);
    agent.plays();
    for (const id of [expired, body.reach_id]) {
      expect((await gateway.api.post(redrivePath(id))).status).toBe(202);
      expect(await view(id)).toMatchObject({ status: 'completed' });
    }
  });
});

describe('a redrive', () => {
  it('happens once, however often and wherever it is asked for', async () => {
    agent.plays({ do: 'reject', message: 'not today' });
    const source = newSource();
    const id = await failed({ source_agent: source });
    const before = await show(id);
    await listed(source, [id]);
    agent.plays({ do: 'answer', output: { answer: 'done' }, afterMs: 300 });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        (n % 2 ? gateway : other).api.post(redrivePath(id), n % 3 ? { by: `caller-${n}` } : undefined),
      ),
    );
    expect(new Set(answers.map(({ status, text }) => (status === 202 ? 202 : text)))).toEqual(new Set([202]));
    const receipts = answers.map(({ body }) => body as RedriveReceipt);
    expect(new Set(receipts.map(({ run_id }) => run_id)).size).toBe(1);
    expect(new Set(receipts.map(({ redriven_run_id }) => redriven_run_id))).toEqual(new Set([before.run_id]));
    expect(receipts.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(receipts[0]).toMatchObject({ reach_id: id, links: { self: `/v1/reaches/${id}` } });
    // Who waits follows the id; the agent saw one delivery more, as the same message with the same key.
    expect(await view(id)).toMatchObject({ status: 'completed', output: { answer: 'done' }, attempts: 1 });
    expect(agent.journal.map(({ call }) => [call.attempt, call.message_id, call.idempotency_key])).toEqual([
      [1, before.envelope.message_id, before.envelope.idempotency_key],
    ]);

    // Pressed once more, after the end: the same answer. The story says who it was; the open list has forgotten it.
    const again = await other.api.post(redrivePath(id));
    expect([again.status, again.body]).toEqual([202, { ...receipts[0], at: expect.any(String), replayed: true }]);
    const story = await show(id);
    expect(story).toMatchObject({
      state: 'redriven',
      run_id: before.run_id,
      error: { code: 'agent_rejected' },
      current_run: { run_id: receipts[0]?.run_id, status: 'completed' },
      redrives: [{ run_id: receipts[0]?.run_id, redriven_run_id: before.run_id, at: expect.any(String) }],
    });
    expect(ids(await list({ source }))).toEqual([]);
    expect((await list({ source, state: 'redriven' })).items).toMatchObject([
      { reach_id: id, state: 'redriven', redrives: story.redrives },
    ]);
    expect(await runsOf(id)).toBe(2);
  });

  it('of many, each asked for at two gateways at the same moment, happens once for each', async () => {
    agent.plays({ do: 'reject', message: 'not today' });
    const source = newSource();
    const many = await Promise.all(Array.from({ length: 12 }, () => failed({ source_agent: source })));
    agent.plays();
    const answers = await Promise.all(
      many.flatMap((id) => [gateway, other].map(({ api }) => api.post(redrivePath(id)))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 202));
    expect(answers.filter(({ body }) => (body as RedriveReceipt).replayed)).toHaveLength(12);
    for (const id of many) {
      expect(await view(id)).toMatchObject({ status: 'completed' });
      expect(await runsOf(id)).toBe(2);
    }
    expect(agent.journal).toHaveLength(12);
  });

  it('that fails again is a dead letter once more, with its lineage and no double entry', async () => {
    agent.plays({ do: 'fail', message: 'still down' });
    const source = newSource();
    const id = await failed({ source_agent: source });
    const first = await show(id);
    const one = (await gateway.api.post(redrivePath(id), { by: 'ann' })).body as RedriveReceipt;
    expect(await view(id)).toMatchObject({ status: 'dead_lettered' });
    const second = await show(id);
    expect(second).toMatchObject({
      state: 'open',
      run_id: one.run_id,
      attempts: [{ n: 1 }, { n: 2 }, { n: 3 }],
      attempts_before: 3,
      redrives: [{ run_id: one.run_id, redriven_run_id: first.run_id, by: 'ann' }],
    });
    const page = await waitFor('the second failure in the list', async () => {
      const found = await list({ source });
      return found.items[0]?.run_id === one.run_id ? found : undefined;
    });
    expect(ids(page)).toEqual([id]);
    expect(ids(await list({ source, state: 'redriven' }))).toEqual([]);

    // A late repeat of the first request, which names the run it saw, starts nothing.
    const late = await gateway.api.post(redrivePath(id), { run_id: first.run_id });
    expect([late.status, late.body]).toEqual([202, { ...one, replayed: true }]);
    expect(agent.journal).toHaveLength(6);

    agent.plays();
    const two = (await gateway.api.post(redrivePath(id), { by: 'bob', run_id: one.run_id })).body as RedriveReceipt;
    expect(two).toMatchObject({ replayed: false, redriven_run_id: one.run_id });
    expect(await view(id)).toMatchObject({ status: 'completed' });
    expect((await show(id)).redrives).toEqual([
      { run_id: one.run_id, redriven_run_id: first.run_id, at: one.at, by: 'ann' },
      { run_id: two.run_id, redriven_run_id: one.run_id, at: two.at, by: 'bob' },
    ]);
    expect((await show(id)).attempts_before).toBe(3);
  });

  it('has a fresh budget', async () => {
    agent.plays({ do: 'hang' });
    const id = await failed({ timeout_ms: 4_000 });
    agent.plays({ do: 'answer', output: { answer: 'x' }, afterMs: 150 });
    await new Promise((done) => setTimeout(done, 900));
    await gateway.api.post(redrivePath(id));
    expect(await view(id)).toMatchObject({ status: 'completed' });
    expect(agent.journal[0]?.call.deadline_ms).toBeGreaterThan(200);
  });

  it('of what a gateway began and did not finish is taken over when its claim runs out', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const id = await failed();
    const { run_id } = await show(id);
    agent.plays();
    // What a gateway leaves behind that dies between the marker and the reset.
    const started = performance.now();
    const { ID } = await etcd.leaseClient.leaseGrant({ TTL: 3 });
    const keys = new Keyspace(`/${gateway.platform}`, 'default');
    const key = keys.under(keys.deadLetters, 'redrive', id, run_id);
    const marker = { v: 1, state: 'pending', by: 'gone', at: new Date().toISOString() };
    await etcd.kv.put({ key: Buffer.from(key), value: Buffer.from(JSON.stringify(marker)), lease: ID });
    const answer = await other.api.post(redrivePath(id), { by: 'heir' });
    expect(answer).toMatchObject({ status: 202, body: { replayed: false, redriven_run_id: run_id } });
    expect(performance.now() - started).toBeGreaterThan(2_500);
    expect(await view(id)).toMatchObject({ status: 'completed' });
    expect((await show(id)).redrives).toMatchObject([{ by: 'heir' }]);
    expect(await runsOf(id)).toBe(2);
  });

  it('is not begun while another gateway may be at it', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const id = await failed();
    const { run_id } = await show(id);
    const keys = new Keyspace(`/${gateway.platform}`, 'default');
    const key = Buffer.from(keys.under(keys.deadLetters, 'redrive', id, run_id));
    const marker = { v: 1, state: 'pending', by: 'slow', at: new Date().toISOString() };
    await etcd.kv.put({ key, value: Buffer.from(JSON.stringify(marker)) });
    const problem = expectProblem(await gateway.api.post(redrivePath(id)), 'engine_unavailable');
    expect(problem).toMatchObject({ retryable: true, retry_after_ms: 2_000, reach_id: id });
    expect(await runsOf(id)).toBe(1);
    await etcd.kv.deleteRange({ key });
  });

  it('by the Temporal CLI is recognised', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const source = newSource();
    const id = await failed({ source_agent: source });
    const { run_id } = await show(id);
    await listed(source, [id]);
    agent.plays();
    const { path } = await locateEngine('temporal', {});
    const args = [
      '--workflow-id',
      id,
      '--type',
      'FirstWorkflowTask',
      '--reapply-exclude',
      'All',
      '--reason',
      'mended',
      '--address',
      temporalAddress(),
    ];
    await run(path, ['workflow', 'reset', ...args]);
    expect(await view(id)).toMatchObject({ status: 'completed' });
    expect(ids(await list({ source }))).toEqual([]);
    const described = await client.workflow.getHandle(id).describe();
    const byHand = {
      run_id: described.runId,
      redriven_run_id: run_id,
      by: 'temporal workflow reset',
      at: described.startTime.toISOString(),
    };
    expect(await show(id)).toMatchObject({ state: 'redriven', run_id, redrives: [byHand] });
    const answer = await gateway.api.post(redrivePath(id), { run_id });
    expect(answer).toMatchObject({ status: 202, body: { run_id: described.runId, at: byHand.at, replayed: true } });
    expect((await show(id)).redrives).toEqual([byHand]);
    expect(ids(await list({ source, state: 'redriven' }))).toEqual([id]);
    expect(agent.journal).toHaveLength(1);
  });

  it('by the Temporal CLI for all that a query finds is recognised too', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const source = newSource();
    const both = [await failed({ source_agent: source }), await failed({ source_agent: source })];
    await listed(source, both);
    agent.plays();
    const { path } = await locateEngine('temporal', {});
    const query = `ReachSource = '${source}' AND ReachStatus = 'dead_lettered'`;
    const how = ['--type', 'FirstWorkflowTask', '--reapply-exclude', 'All', '--reason', 'the agent was down', '--yes'];
    await run(path, ['workflow', 'reset', '--query', query, ...how, '--address', temporalAddress()]);
    // A batch job resets them in its own time.
    for (const id of both) {
      await waitFor(`the reset of ${id}`, async () => (await runsOf(id)) === 2, 20_000);
      expect(await view(id)).toMatchObject({ status: 'completed' });
      expect(await show(id)).toMatchObject({ state: 'redriven', redrives: [{ by: 'temporal workflow reset' }] });
    }
    expect(agent.journal).toHaveLength(2);
  });

  it('leaves behind what came in for the failed run', async () => {
    agent.plays({ do: 'accept' });
    const { body } = await gateway.api.reach(
      { ability: agent.ability, timeout_ms: 20_000 },
      { prefer: 'respond-async' },
    );
    const seen = await waitFor('the request', () => agent.journal[0]);
    await waitFor('the acceptance', async () => {
      const { body: now } = await gateway.api.get(`/v1/reaches/${body.reach_id}`);
      return now.stage === 'agent_accepted';
    });
    const error = { code: 'agent_rejected', message: 'of the first run' };
    const late = { headers: { 'x-reach-token': String(seen.headers['x-reach-token']) } };
    expect((await gateway.api.post(`/v1/reaches/${body.reach_id}/result`, { error }, late)).status).toBe(202);
    expect(await view(body.reach_id)).toMatchObject({ status: 'dead_lettered' });
    agent.plays();
    await gateway.api.post(redrivePath(body.reach_id));
    expect(await view(body.reach_id)).toMatchObject({ status: 'completed', output: { answer: 'hello' } });
    const { events } = await client.workflow.getHandle(body.reach_id).fetchHistory();
    expect(events?.filter((event) => event.workflowExecutionSignaledEventAttributes)).toEqual([]);
    expect(events?.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes)).toEqual([]);
  });
});

describe('what may be sent only once', () => {
  it('is not sent again unless somebody takes that on', async () => {
    agent.plays({ do: 'reset', when: 'before_headers' });
    const source = newSource();
    const id = await failed({ delivery_semantics: 'at_most_once', source_agent: source });
    await listed(source, [id], { status: 'outcome_unknown' });
    expect(await show(id)).toMatchObject({ status: 'outcome_unknown', needs_accept_repeat: true });
    const problem = expectProblem(await gateway.api.post(redrivePath(id)), 'reach_terminal');
    expect(problem.detail).toMatch(/may have done the work.*accept_repeat/);
    const skipped = (await gateway.api.post('/v1/dead-letters:redrive', { filter: { source } })).body;
    expect(skipped).toEqual({
      matched: 1,
      redriven: [],
      skipped: [{ reach_id: id, reason: expect.stringContaining('accept_repeat is not set') }],
      failed: [],
    });
    expect(agent.journal).toHaveLength(1);
    agent.plays();
    expect((await gateway.api.post(redrivePath(id), { accept_repeat: true })).status).toBe(202);
    expect(await view(id)).toMatchObject({ status: 'completed' });
  });

  it('nor when its time ended while the agent had it', async () => {
    agent.plays({ do: 'hang' });
    const id = await failed({ delivery_semantics: 'at_most_once', timeout_ms: 4_000 });
    expect(await show(id)).toMatchObject({ needs_accept_repeat: true });
    expectProblem(await gateway.api.post(redrivePath(id), {}), 'reach_terminal');
  });

  it.each([
    ['at_most_once', { delivery_semantics: 'at_most_once' }, () => agent],
    ['an ability that is not idempotent', {}, () => booking],
  ])('nor when the agent answered and its answer is of no use (%s)', async (_what, envelope, whom) => {
    const once = whom();
    once.plays({ do: 'status', status: 200, body: 'booked, but not in JSON' });
    const source = newSource();
    const id = await failed({ ability: once.ability, ...envelope, source_agent: source });
    await listed(source, [id], { status: 'dead_lettered' });
    expect(await show(id)).toMatchObject({ needs_accept_repeat: true, error: { code: 'agent_protocol_error' } });
    const problem = expectProblem(await gateway.api.post(redrivePath(id)), 'reach_terminal');
    expect(problem.detail).toMatch(/may have done the work.*accept_repeat/);
    const filter = { source, code: 'agent_protocol_error' };
    expect((await gateway.api.post('/v1/dead-letters:redrive', { filter })).body).toEqual({
      matched: 1,
      redriven: [],
      skipped: [{ reach_id: id, reason: expect.stringContaining('accept_repeat is not set') }],
      failed: [],
    });
    expect(once.journal).toHaveLength(1);
    once.plays();
    const { body } = await gateway.api.post('/v1/dead-letters:redrive', { filter, accept_repeat: true });
    expect(body).toMatchObject({ redriven: [{ reach_id: id }], skipped: [] });
    expect(await view(id)).toMatchObject({ status: 'completed' });
  });

  it('but is when the agent refused it', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const id = await failed({ delivery_semantics: 'at_most_once' });
    expect(await show(id)).toMatchObject({ needs_accept_repeat: false });
    expect((await gateway.api.post(redrivePath(id))).status).toBe(202);
    await view(id);
  });
});

describe('in bulk', () => {
  it('redrives what fits, each once, and says what it did with the rest', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const source = newSource();
    const open: string[] = [];
    for (let n = 0; n < 5; n += 1) open.push(await failed({ source_agent: source }));
    const given = open.pop() as string;
    await gateway.api.post(`/v1/dead-letters/${given}:discard`, { reason: 'given up' });
    await listed(source, open);
    const order = { filter: { source, code: 'agent_rejected' } };
    const bulk = async (more: object) =>
      (await gateway.api.post('/v1/dead-letters:redrive', { ...order, ...more })).body as BulkRedriveResult;
    const dry = await bulk({ dry_run: true });
    expect(dry).toMatchObject({ matched: 4, redriven: [], skipped: [], failed: [] });
    expect(dry.would_redrive?.map(({ reach_id }) => reach_id).toSorted()).toEqual(open.toSorted());
    expect(agent.journal).toHaveLength(5);
    expect(await bulk({ filter: { source, code: 'agent_timeout' } })).toMatchObject({ matched: 0 });

    agent.plays({ do: 'answer', output: { answer: 'x' } });
    expect((await bulk({ limit: 1 })).redriven).toHaveLength(1);
    // Two at once: between them each reach gets one new run.
    const both = await Promise.all([bulk({}), bulk({})]);
    const redriven = both.flatMap((one) => one.redriven);
    expect(redriven).toHaveLength(3);
    expect(both.flatMap(({ failed: none }) => none)).toEqual([]);
    for (const id of open) expect(await view(id)).toMatchObject({ status: 'completed' });
    expect(agent.journal).toHaveLength(4);
    for (const { reach_id, run_id } of redriven)
      expect((await show(reach_id)).redrives).toMatchObject([{ run_id, by: 'local' }]);
    expect((await bulk({})).matched).toBe(0);
    expect(await show(given)).toMatchObject({ state: 'discarded' });
  });

  it('says in a dry run what it would skip for want of consent', async () => {
    const source = newSource();
    agent.plays({ do: 'reset', when: 'before_headers' }, { do: 'reject', message: 'no' });
    const inDoubt = await failed({ source_agent: source, delivery_semantics: 'at_most_once' });
    const undone = await failed({ source_agent: source, delivery_semantics: 'at_most_once' });
    await listed(source, [inDoubt, undone]);
    const look = async (more: object) =>
      (await gateway.api.post('/v1/dead-letters:redrive', { filter: { source }, dry_run: true, ...more }))
        .body as BulkRedriveResult;
    const dry = await look({});
    expect(dry).toMatchObject({ matched: 2, redriven: [], failed: [], would_redrive: [{ reach_id: undone }] });
    expect(dry.skipped).toEqual([{ reach_id: inDoubt, reason: expect.stringContaining('accept_repeat is not set') }]);
    expect(await look({ accept_repeat: true })).toMatchObject({
      would_redrive: [{ reach_id: undone }, { reach_id: inDoubt }],
      skipped: [],
    });
    expect(agent.journal).toHaveLength(2);
  });

  it('wants to be told what', async () => {
    const bulk = (body: object) => gateway.api.post('/v1/dead-letters:redrive', body);
    const { errors } = expectProblem(await bulk({}), 'invalid_request');
    expect(errors).toMatchObject([{ pointer: '/filter' }]);
    expectProblem(await bulk({ filter: {}, limit: 1_001 }), 'invalid_request');
    expectProblem(await bulk({ filter: { agnet: 'desk' } }), 'invalid_request');
    expect((await bulk({ filter: {}, dry_run: true })).status).toBe(200);
  });
});

describe('a discard', () => {
  it('takes it out of the open ones, once, and for good', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const source = newSource();
    const id = await failed({ source_agent: source });
    await listed(source, [id]);
    const discard = (body?: object) => other.api.post(`/v1/dead-letters/${id}:discard`, body);
    const first = await discard({ reason: 'the order was cancelled', by: 'ann' });
    expect(first).toMatchObject({
      status: 200,
      body: { reach_id: id, state: 'discarded', reason: 'the order was cancelled', by: 'ann', replayed: false },
    });
    expect((await discard({ reason: 'another', by: 'bob' })).body).toEqual({ ...first.body, replayed: true });
    const { at, reason, by } = first.body;
    expect(await show(id)).toMatchObject({ state: 'discarded', discard: { at, reason, by } });
    expect(ids(await list({ source }))).toEqual([]);
    expect((await list({ source, state: 'discarded' })).items).toMatchObject([{ reach_id: id, discard: { reason } }]);
    const problem = expectProblem(await gateway.api.post(redrivePath(id)), 'reach_terminal');
    expect(problem.detail).toContain('discarded');
    expect(await runsOf(id)).toBe(1);
  });

  it('and a redrive at the same moment: one of them wins', async () => {
    for (let n = 0; n < 5; n += 1) {
      agent.plays({ do: 'reject', message: 'no' });
      const id = await failed();
      const [redriven, discarded] = await Promise.all([
        gateway.api.post(redrivePath(id)),
        other.api.post(`/v1/dead-letters/${id}:discard`, { reason: 'race' }),
      ]);
      expect([redriven.status, discarded.status].toSorted()).toEqual(redriven.status === 202 ? [202, 409] : [200, 409]);
      expect(await runsOf(id)).toBe(redriven.status === 202 ? 2 : 1);
      await view(id);
    }
  });

  it('waits for a redrive that a gateway began and did not finish, until its claim runs out', async () => {
    agent.plays({ do: 'reject', message: 'no' });
    const id = await failed();
    const { run_id } = await show(id);
    const { ID } = await etcd.leaseClient.leaseGrant({ TTL: 3 });
    const keys = new Keyspace(`/${gateway.platform}`, 'default');
    const key = Buffer.from(keys.under(keys.deadLetters, 'redrive', id, run_id));
    const marker = { v: 1, state: 'pending', by: 'gone', at: new Date().toISOString() };
    await etcd.kv.put({ key, value: Buffer.from(JSON.stringify(marker)), lease: ID });
    const answer = await other.api.post(`/v1/dead-letters/${id}:discard`, { reason: 'not wanted' });
    expect(answer).toMatchObject({ status: 200, body: { state: 'discarded', reason: 'not wanted' } });
    expect(await runsOf(id)).toBe(1);
  });

  it.each([
    ['none', {}],
    ['an empty one', { reason: '' }],
    ['blanks', { reason: ' ' }],
    ['501 characters', { reason: 'x'.repeat(501) }],
  ])('needs a reason, not %s', async (_what, body) => {
    expectProblem(await gateway.api.post(`/v1/dead-letters/r-${'a'.repeat(32)}:discard`, body), 'invalid_request');
  });
});

describe('the list', () => {
  it('filters and pages', async () => {
    const source = newSource();
    const rejected: string[] = [];
    agent.plays({ do: 'reject', message: 'no' });
    const before = new Date();
    for (let n = 0; n < 4; n += 1) rejected.push(await failed({ source_agent: source }));
    const between = new Date();
    agent.plays({ do: 'status', status: 200, body: 'not json' });
    const broken = await failed({ source_agent: source });
    const all = [...rejected, broken];
    const whole = await listed(source, all);
    expect(ids(whole)).toEqual(all.toReversed());
    expect(ids(await list({ source, code: 'agent_protocol_error' }))).toEqual([broken]);
    expect(ids(await list({ source, since: between.toISOString() }))).toEqual([broken]);
    expect(ids(await list({ source, until: between.toISOString() }))).toEqual(rejected.toReversed());
    expect(ids(await list({ source, until: before.toISOString() }))).toEqual([]);
    expect(ids(await list({ source, agent: 'desk', ability: 'desk.work' }))).toEqual(all.toReversed());
    expect(ids(await list({ source, agent: `desk' OR ReachAgent != 'x` }))).toEqual([]);
    expect(ids(await list({ source, status: 'outcome_unknown' }))).toEqual([]);

    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await list({ source, limit: '2', ...(cursor && { cursor }) });
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...ids(page));
      cursor = page.next_cursor;
    } while (cursor);
    expect(seen).toEqual(all.toReversed());
    // A filter that hits only the last of them goes on by itself.
    const [oldest] = rejected;
    await gateway.api.post(`/v1/dead-letters/${oldest}:discard`, { reason: 'x' });
    expect(ids(await list({ source, state: 'discarded', limit: '1' }))).toEqual([oldest]);
  });

  it.each([
    'state=closed',
    'status=completed',
    'code=nope',
    'limit=0',
    'limit=201',
    'since=yesterday',
    'cursor=AAAA',
    'x=1',
  ])('refuses ?%s', async (query) => {
    expectProblem(await gateway.api.get(`/v1/dead-letters?${query}`), 'invalid_request');
  });
});

describe('a reach that is none', () => {
  it('is not found, and what it is instead is said', async () => {
    const { body } = await gateway.api.reach({ ability: agent.ability });
    const id = body.reach_id as string;
    for (const answer of [
      await gateway.api.get(`/v1/dead-letters/${id}`),
      await gateway.api.post(redrivePath(id)),
      await gateway.api.post(`/v1/dead-letters/${id}:discard`, { reason: 'x' }),
    ])
      expect(expectProblem(answer, 'not_found').detail).toContain('reach is completed');
    const unknown = `r-${'a'.repeat(32)}`;
    for (const path of [unknown, 'nonsense', '%2e%2e'])
      expectProblem(await gateway.api.get(`/v1/dead-letters/${path}`), 'not_found');
    expectProblem(await gateway.api.post(redrivePath(unknown)), 'not_found');
    agent.plays({ do: 'reject', message: 'no' });
    const dead = await failed();
    const elsewhere = { run_id: '01a22ac5-9c49-70e2-b26f-29356620d2a5' };
    expectProblem(await gateway.api.post(redrivePath(dead), elsewhere), 'not_found');
    expectProblem(await gateway.api.post(redrivePath(dead), { run_id: 'x' }), 'invalid_request');
  });
});

it('is there for programs: all of them, one by one or in one request', async () => {
  agent.plays({ do: 'reject', message: 'no' });
  const source = newSource();
  const open = [await failed({ source_agent: source }), await failed({ source_agent: source })];
  await listed(source, open);
  const letters = DeadLettersClient.connect({ url: gateway.url });
  const found: string[] = [];
  for await (const { reach_id } of letters.all({ source })) found.push(reach_id);
  expect(found).toEqual(open.toReversed());
  await expect(letters.show('')).rejects.toMatchObject({ code: 'invalid_request' });
  expect(await letters.redriveAll({ source }, { dryRun: true })).toMatchObject({ matched: 2, redriven: [] });
  agent.plays();
  const { redriven } = await letters.redriveAll({ source }, { by: 'a program' });
  expect(redriven.map(({ reach_id }) => reach_id).toSorted()).toEqual(open.toSorted());
  for (const id of open) expect(await view(id)).toMatchObject({ status: 'completed' });
  await letters.close();
});

it('counts what it redrove', async () => {
  const count = async () => {
    const { text } = await other.api.get('/metrics');
    return Number(/^agent_reach_dead_letters_redriven_total (\d+)$/m.exec(text)?.[1]);
  };
  agent.plays({ do: 'reject', message: 'no' });
  const id = await failed();
  const before = await count();
  await other.api.post(redrivePath(id));
  await other.api.post(redrivePath(id), { run_id: (await show(id)).redrives[0]?.redriven_run_id });
  expect(await count()).toBe(before + 1);
});

/** Runs that the reach ever had, as the server counts them. */
async function runsOf(id: string): Promise<number> {
  let runs = 0;
  let runId: string | null | undefined = (await client.workflow.getHandle(id).describe()).raw.workflowExecutionInfo
    ?.firstRunId;
  for (; runId; runs += 1)
    runId = (await client.workflow.getHandle(id, runId).describe()).raw.workflowExtendedInfo?.resetRunId;
  return runs;
}
