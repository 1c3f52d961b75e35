import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { Webhook } from 'standardwebhooks';
import { parseCallbackId } from '../../src/protocol/callback-id';
import { verifyCallback } from '../../src/sdk/callback';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { temporalAddress } from '../support/temporal';
import { waitFor } from '../support/wait-for';
import { startReceiver, type Received, type Receiver } from './receiver';

let gateway: TestGateway;
let agent: ScriptedHttpAgent;
let receiver: Receiver;
let secret: string;
let connection: Connection;
let client: Client;

beforeAll(async () => {
  gateway = await startGateway({
    config: {
      callbacks: { retry_schedule: ['100ms', '100ms', '100ms'], timeout: '5s' },
      dead_letters: { sweep_interval: '1s' },
    },
  });
  agent = await startHttpAgent(gateway.api, { name: 'desk', endpoint: { max_retry: 0 } });
  receiver = await startReceiver();
  secret = (await gateway.api.get('/v1/callbacks/secret')).body.secret;
  connection = await Connection.connect({ address: temporalAddress() });
  client = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await receiver.close();
  await agent.close();
  await gateway.close();
});
beforeEach(() => {
  agent.plays();
  receiver.answers(204);
});

/** A path of its own for each test, so that a late attempt of another's is not counted. */
const path = () => `/${randomUUID()}`;
const send = (to: string, more: object = {}, headers: Record<string, string> = {}) =>
  gateway.api.reach({ ability: agent.ability, callback: { url: receiver.url(to) }, ...more }, headers);
const told = (reachId: string, status: string) =>
  waitFor(`the ${status} callback of ${reachId}`, async () => {
    const { body } = await gateway.api.get(`/v1/reaches/${reachId}`);
    return body.callback?.status === status ? body.callback : undefined;
  });
const verified = ({ raw, headers }: Received) => verifyCallback(raw, headers, secret);
/** What GET answers, but for how the callback itself stands. */
const viewOf = async (reachId: string) => {
  const view = { ...(await gateway.api.ended(reachId)).body };
  delete view.callback;
  return view;
};

describe('the end of a reach', () => {
  it('that was answered is told as GET answers it, signed so that a stock verifier takes it', async () => {
    const to = path();
    agent.plays({ do: 'answer', output: { answer: 'é 你好', n: 1.5 } });
    const { body, status } = await send(to);
    expect(status).toBe(200);
    const got = await receiver.nth(1, to);
    expect(new Webhook(secret).verify(got.raw, got.headers as Record<string, string>)).toMatchObject({
      type: 'reach.completed',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: { reach_id: body.reach_id, output: { answer: 'é 你好', n: 1.5 } },
    });
    const { id, data } = verified(got);
    expect(await told(body.reach_id, 'delivered')).toEqual({ id, status: 'delivered', attempts: 1 });
    expect(data).toEqual(await viewOf(body.reach_id));
    expect(got.headers['content-type']).toBe('application/json');
    expect(receiver.at(to)).toHaveLength(1);
  });

  it.each([
    ['reach.dead_lettered', 502, { do: 'reject', message: 'no' } as const, {}],
    ['reach.expired', 504, { do: 'accept' } as const, { timeout_ms: 700 }],
    [
      'reach.outcome_unknown',
      503,
      { do: 'reset', when: 'before_headers' } as const,
      { delivery_semantics: 'at_most_once' },
    ],
  ])('%s is told once, with the status that every other channel has', async (type, status, step, more) => {
    const to = path();
    agent.plays(step);
    const answer = await send(to, more);
    expect(answer.status).toBe(status);
    const event = verified(await receiver.nth(1, to));
    expect(event.type).toBe(type);
    expect(event.data).toEqual(await viewOf(answer.body.reach_id));
    await told(answer.body.reach_id, 'delivered');
    expect(receiver.at(to)).toHaveLength(1);
  });

  it('that was cancelled is told, though everything else of it is cancelled', async () => {
    const to = path();
    agent.plays({ do: 'accept' });
    const { body } = await send(to, {}, { prefer: 'respond-async' });
    await waitFor(
      'the acceptance',
      async () => (await gateway.api.get(`/v1/reaches/${body.reach_id}`)).body.stage === 'agent_accepted',
    );
    await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`);
    const event = verified(await receiver.nth(1, to));
    expect(event).toMatchObject({
      type: 'reach.cancelled',
      data: { status: 'cancelled', error: { code: 'reach_terminal' } },
    });
    expect(event.data).toEqual(await viewOf(body.reach_id));
  });

  it('that an operator terminated is told by the sweep', async () => {
    const to = path();
    agent.plays({ do: 'accept' });
    const { body } = await send(to, {}, { prefer: 'respond-async' });
    await client.workflow.getHandle(body.reach_id).terminate('by hand');
    expect(verified(await receiver.nth(1, to))).toMatchObject({
      type: 'reach.dead_lettered',
      data: { reach_id: body.reach_id, status: 'dead_lettered' },
    });
  });

  it('is told again, under another id, when the reach was redriven', async () => {
    const to = path();
    agent.plays({ do: 'reject', message: 'not yet' }, { do: 'answer', output: { answer: 'now' } });
    const { body } = await send(to);
    const first = verified(await receiver.nth(1, to));
    const { body: redrive } = await gateway.api.post(`/v1/dead-letters/${body.reach_id}:redrive`);
    const second = verified(await receiver.nth(2, to));
    expect([first.type, second.type]).toEqual(['reach.dead_lettered', 'reach.completed']);
    expect(second.id).not.toBe(first.id);
    expect(parseCallbackId(second.id)).toMatchObject({ reachId: body.reach_id, runId: redrive.run_id });
    expect(second.data).toEqual(await viewOf(body.reach_id));
  });

  it('is told once for a key that is sent again', async () => {
    const to = path();
    const idempotency_key = randomUUID();
    const { body } = await send(to, { idempotency_key });
    expect((await send(to, { idempotency_key })).body).toMatchObject({ reach_id: body.reach_id, replayed: true });
    await told(body.reach_id, 'delivered');
    expect(receiver.at(to)).toHaveLength(1);
    const other = await send(path(), { idempotency_key });
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused']);
  });

  it('over 256 KiB is told with a link instead of its output', async () => {
    const to = path();
    agent.plays({ do: 'answer', output: { answer: 'ok', text: 'x'.repeat(300_000) } });
    const { body } = await send(to);
    const got = await receiver.nth(1, to);
    expect(got.raw.byteLength).toBeLessThan(262_144 + 1_000);
    const { data } = verified(got);
    expect(data).toMatchObject({
      status: 'completed',
      output_omitted: true,
      links: { self: `/v1/reaches/${body.reach_id}` },
    });
    expect(data).not.toHaveProperty('output');
    const whole = await gateway.api.get((data as unknown as { links: { self: string } }).links.self);
    expect(whole.body.output.text).toHaveLength(300_000);
    expect(data).not.toHaveProperty('answer');
  });

  it('that nobody asked for leaves neither activity nor marker behind', async () => {
    const { body } = await gateway.api.reach({ ability: agent.ability });
    const { events } = await client.workflow.getHandle(body.reach_id).fetchHistory();
    const text = JSON.stringify(events);
    expect(text).not.toContain('notify');
    expect(body).not.toHaveProperty('callback');
  });
});

describe('an attempt that fails', () => {
  it('is followed by another one with the same id and body, signed anew', async () => {
    const to = path();
    receiver.answers(503, 500, 204);
    const { body } = await send(to);
    expect(await told(body.reach_id, 'delivered')).toMatchObject({ attempts: 3 });
    const got = receiver.at(to);
    expect(got).toHaveLength(3);
    expect(new Set(got.map((one) => one.headers['webhook-id'])).size).toBe(1);
    expect(new Set(got.map((one) => one.raw.toString())).size).toBe(1);
    for (const one of got) verified(one);
  });

  it('by silence ends at its time limit', async () => {
    const to = path();
    receiver.answers({ status: 0, hang: true }, 204);
    const { body } = await send(to);
    await receiver.nth(2, to);
    expect(await told(body.reach_id, 'delivered')).toMatchObject({ attempts: 2 });
  });

  it('waits as long as Retry-After asks for', async () => {
    const to = path();
    receiver.answers({ status: 429, headers: { 'retry-after': '1' } }, 204);
    await send(to);
    const first = await receiver.nth(1, to);
    const second = await receiver.nth(2, to);
    expect(second.atMs - first.atMs).toBeGreaterThan(900);
  });

  it('with 410 is the last', async () => {
    const to = path();
    receiver.answers(410);
    const { body } = await send(to);
    expect(await told(body.reach_id, 'failed')).toMatchObject({
      attempts: 1,
      last_error: { http_status: 410, message: expect.stringContaining('wants no more') },
    });
    expect(receiver.at(to)).toHaveLength(1);
  });

  it('with a redirect does not follow it', async () => {
    const [to, elsewhere] = [path(), path()];
    receiver.answers({ status: 307, headers: { location: receiver.url(elsewhere) } });
    const { body } = await send(to);
    expect(await told(body.reach_id, 'failed')).toMatchObject({
      attempts: 4,
      last_error: { http_status: 307, message: expect.stringContaining('redirect') },
    });
    expect([receiver.at(to).length, receiver.at(elsewhere).length]).toEqual([4, 0]);
  });
});

describe('a callback that was given up', () => {
  it('does not change how the reach ended, is listed, and is redriven once under its own id', async () => {
    const to = path();
    receiver.answers(500);
    const { body, status } = await send(to);
    expect([status, body.status]).toEqual([200, 'completed']);
    const { id } = await told(body.reach_id, 'failed');
    const row = await waitFor('its row', async () => {
      const { body: page } = await gateway.api.get(`/v1/callbacks?state=failed&reach_id=${body.reach_id}`);
      return page.items[0];
    });
    expect(row).toMatchObject({
      id,
      reach_id: body.reach_id,
      to: { url: receiver.url(to) },
      status: 'failed',
      attempts: 4,
      last_error: { http_status: 500 },
    });
    expect((await gateway.api.get(`/v1/callbacks/${id}`)).body).toEqual(row);

    receiver.answers(204);
    const redriven = await gateway.api.post(`/v1/callbacks/${id}:redrive`);
    expect([redriven.status, redriven.body]).toEqual([202, { id, status: expect.any(String), replayed: false }]);
    const { id: webhookId } = verified(await receiver.nth(5, to));
    expect(webhookId).toBe(id);
    await told(body.reach_id, 'delivered');
    expect((await gateway.api.post(`/v1/callbacks/${id}:redrive`)).body).toMatchObject({
      status: 'delivered',
      replayed: true,
    });
    await waitFor('the list to follow', async () => {
      const { body: page } = await gateway.api.get(`/v1/callbacks?reach_id=${body.reach_id}`);
      return page.items.length === 1 && page.items[0].status === 'delivered';
    });
    expect((await gateway.api.get(`/v1/callbacks?state=failed&reach_id=${body.reach_id}`)).body.items).toEqual([]);
    expect(receiver.at(to)).toHaveLength(5);
  });

  it('is shown while it is tried', async () => {
    const to = path();
    receiver.answers({ status: 503, headers: { 'retry-after': '30' } });
    const { body } = await send(to);
    // One that is under way counts as well, and has no error yet.
    const { id } = await waitFor('an attempt to have failed', async () => {
      const { body: view } = await gateway.api.get(`/v1/reaches/${body.reach_id}`);
      return view.callback?.last_error && view.callback;
    });
    const { body: shown } = await gateway.api.get(`/v1/callbacks/${id}`);
    expect(shown).toMatchObject({ status: 'pending', attempts: 1, last_error: { http_status: 503 } });
    expect(Date.parse(shown.next_attempt_at) - Date.now()).toBeGreaterThan(20_000);
    expect((await gateway.api.post(`/v1/callbacks/${id}:redrive`)).body).toEqual({
      id,
      status: 'pending',
      replayed: true,
    });
    await client.workflow.getHandle(id).terminate();
    expect((await gateway.api.get(`/v1/callbacks/${id}`)).body.status).toBe('failed');
  });
});

describe('/v1/callbacks', () => {
  const unknown = `cb-${'a'.repeat(32)}-${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}`;

  it.each([unknown, 'cb-x', 'r-x', "cb-' OR 1=1"])('answers 404 for %s', async (id) => {
    for (const answer of [
      await gateway.api.get(`/v1/callbacks/${encodeURIComponent(id)}`),
      await gateway.api.post(`/v1/callbacks/${encodeURIComponent(id)}:redrive`),
    ])
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });

  it('redrives nothing that was not asked for', async () => {
    const { body } = await gateway.api.reach({ ability: agent.ability });
    const { runId } = await client.workflow.getHandle(body.reach_id).describe();
    const answer = await gateway.api.post(`/v1/callbacks/cb-${body.reach_id.slice(2)}-${runId}:redrive`);
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });

  it.each(['state=gone', 'limit=0', 'limit=x', 'cursor=abcd', 'foo=1'])('refuses the query %s', async (query) => {
    const answer = await gateway.api.get(`/v1/callbacks?${query}`);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
  });

  it('takes a filter literally', async () => {
    const { body, status } = await gateway.api.get(`/v1/callbacks?reach_id=${encodeURIComponent("r-' OR 1=1 OR '")}`);
    expect([status, body.items]).toEqual([200, []]);
  });
});
