import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import Ajv2020 from 'ajv/dist/2020';
import type { JsonObject } from '../../src/protocol/shapes';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { descriptorOf, registerDescriptor } from '../support/scripted-agent';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';

let gateway: TestGateway;
let agent: ScriptedHttpAgent;
const SOURCE = `o'brien "x" \\ %`;

beforeAll(async () => {
  gateway = await startGateway();
  agent = await startHttpAgent(gateway.api, { name: 'desk', endpoint: { max_retry: 1 } });
});
afterAll(async () => {
  await agent.close();
  await gateway.close();
});
beforeEach(() => agent.plays());

const send = (more: object = {}, headers: Record<string, string> = {}) =>
  gateway.api.reach({ ability: agent.ability, ...more }, headers);
const UNKNOWN = `/v1/reaches/r-${'a'.repeat(32)}`;

describe('how long a POST waits', () => {
  it.each([
    ['the end of a quick one', {}, 'wait=20', 200],
    ['nothing with respond-async', {}, 'respond-async', 202],
    ['nothing with respond-async beside a wait', {}, 'respond-async, wait=20', 202],
    ['nothing when it is async', { mode: 'async' }, '', 202],
    ['as long as it wishes when it is async', { mode: 'async' }, 'wait=20', 200],
    ['the default, for a preference that cannot be read', {}, 'wait=soon;foo', 200],
  ])('is for %s', async (_what, more, prefer, status) => {
    expect((await send(more, { prefer })).status).toBe(status);
  });

  it('is 2 s by default, and the deadline when that is sooner', async () => {
    // A machine that stalls makes an answer late, never early: the promptest of a few counts.
    const promptest = async (ask: () => ReturnType<typeof send>, limitMs: number) => {
      let best = await ask();
      for (let tries = 1; tries < 3 && best.ms >= limitMs; tries += 1) {
        const next = await ask();
        if (next.ms < best.ms) best = next;
      }
      return best;
    };
    agent.plays({ do: 'answer', output: { answer: 'slow' }, afterMs: 5_000 });
    const patient = await promptest(() => send({ timeout_ms: 20_000 }, { prefer: '' }), 4_500);
    expect(patient.status).toBe(202);
    expect(patient.ms).toBeGreaterThan(1_900);
    expect(patient.ms).toBeLessThan(4_500);
    agent.plays({ do: 'hang' });
    const hasty = await promptest(() => send({ timeout_ms: 700, max_total_retries: 0 }, { prefer: '' }), 1_950);
    expect(hasty.ms).toBeLessThan(1_950);
  });

  it('ends when its caller hangs up, and the reach goes on', async () => {
    const inHand = async () =>
      /^agent_reach_requests_in_flight (\d+)$/m.exec((await gateway.api.get('/metrics')).text)?.[1];
    agent.plays({ do: 'answer', output: { answer: 'late' }, afterMs: 4_000 });
    const leaving = new AbortController();
    const key = randomUUID();
    const envelope = { ability: agent.ability, payload: { case: key }, idempotency_key: key, timeout_ms: 30_000 };
    const sent = { headers: { prefer: 'wait=30' }, signal: leaving.signal };
    const waiting = gateway.api.post('/v1/reaches', envelope, sent).catch((error: Error) => error.name);
    await waitFor('the agent to be called', () => agent.journalOf(key)[0]);
    expect(await inHand()).toBe('1');
    leaving.abort();
    expect(await waiting).toBe('AbortError');
    await waitFor('its place to be free', async () => (await inHand()) === '0');
    const again = await gateway.api.post('/v1/reaches', envelope, { headers: { prefer: 'wait=30' } });
    expect(again.body).toMatchObject({ status: 'completed', answer: 'late', replayed: true });
    expect(agent.journalOf(key)).toHaveLength(1);
  });

  it('ends at its N seconds, and the reach goes on', async () => {
    agent.plays({ do: 'answer', output: { answer: 'slow' }, afterMs: 2_200 });
    const answer = await send({}, { prefer: 'wait=1' });
    expect(answer.status).toBe(202);
    expect(answer.ms).toBeGreaterThan(900);
    expect((await gateway.api.ended(answer.body.reach_id)).body).toMatchObject({
      status: 'completed',
      output: { answer: 'slow' },
    });
  });
});

describe('a receipt', () => {
  it.each(['respond-async', 'wait=0'])('has every field and a Location (Prefer: %s)', async (prefer) => {
    agent.plays({ do: 'answer', output: { answer: 'x' }, afterMs: 400 });
    const message_id = `m-${prefer}-${randomUUID()}`;
    const { body, headers, status } = await send(
      { message_id, timeout_ms: 8_000 },
      { prefer, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` },
    );
    expect(status).toBe(202);
    // Estimates are there as soon as enough calls were measured.
    const { eta_ms = 1, eta_p95_ms = eta_ms, ...receipt } = body;
    expect(eta_p95_ms).toBeGreaterThanOrEqual(eta_ms);
    expect(receipt).toEqual({
      reach_id: expect.stringMatching(/^r-[a-z2-7]{32}$/),
      message_id,
      status: 'accepted',
      stage: 'routed',
      agent_name: 'desk',
      agent_version: '1.0.0',
      route_reason: expect.stringContaining('desk'),
      decision_id: expect.stringMatching(/\S/),
      accepted_at: expect.stringMatching(/^\d{4}-.*Z$/),
      expires_in_ms: 8_000,
      replayed: false,
      trace_id: 'a'.repeat(32),
      links: {
        self: `/v1/reaches/${body.reach_id}`,
        events: `/v1/reaches/${body.reach_id}/events`,
        temporal: expect.stringContaining(`/namespaces/default/workflows/${body.reach_id}`),
      },
    });
    expect([headers.location, headers['x-reach-id']]).toEqual([`/v1/reaches/${body.reach_id}`, body.reach_id]);
    await gateway.api.ended(body.reach_id);
  });

  it('of a repeat counts the time that has passed', async () => {
    // Still under way when it is repeated, however late that is.
    agent.plays({ do: 'hang' });
    const envelope = { idempotency_key: randomUUID(), timeout_ms: 30_000 };
    const once = await send(envelope, { prefer: 'respond-async' });
    await sleep(200);
    const again = await send(envelope, { prefer: 'wait=0' });
    expect(again.body).toMatchObject({
      reach_id: once.body.reach_id,
      replayed: true,
      decision_id: once.body.decision_id,
    });
    // A repeat has no estimate: it is under way already.
    const fieldsOf = (receipt: object) => Object.keys(receipt).filter((field) => !field.startsWith('eta_'));
    expect(fieldsOf(again.body).toSorted()).toEqual(fieldsOf(once.body).toSorted());
    expect(again.body).not.toHaveProperty('eta_ms');
    expect(again.body.expires_in_ms).toBeLessThan(30_000 - 150);
    await gateway.api.post(`/v1/reaches/${once.body.reach_id}:cancel`);
  });
});

describe('GET', () => {
  it('answers at once, or when the reach ends', async () => {
    agent.plays({ do: 'answer', output: { answer: 'slow' }, afterMs: 3_500 });
    const { body } = await send({ timeout_ms: 20_000 }, { prefer: 'respond-async' });
    const now = await gateway.api.get(`/v1/reaches/${body.reach_id}`);
    expect(now.body).toMatchObject({
      status: 'running',
      ability: agent.ability,
      agent_name: 'desk',
      decision_id: body.decision_id,
      accepted_at: expect.any(String),
      links: body.links,
    });
    expect(now.ms).toBeLessThan(3_300);
    const end = await gateway.api.get(`/v1/reaches/${body.reach_id}?wait=20`);
    expect(end.body).toMatchObject({ status: 'completed', output: { answer: 'slow' }, trace_id: body.trace_id });
    expect((await gateway.api.get(`/v1/reaches/${body.reach_id}`)).body).toEqual(end.body);
  });

  it('ends its wait with what is known then', async () => {
    agent.plays({ do: 'hang' });
    const { body } = await send({ timeout_ms: 20_000 }, { prefer: 'respond-async' });
    const poll = await gateway.api.get(`/v1/reaches/${body.reach_id}?wait=1`);
    expect([poll.status, poll.body.status]).toEqual([200, 'running']);
    expect(poll.ms).toBeGreaterThan(900);
    await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`);
  });

  it('shows the attempts of a reach that is being retried', async () => {
    agent.plays(
      { do: 'status', status: 503, headers: { 'retry-after': '5' } },
      { do: 'answer', output: { answer: 'x' } },
    );
    const { body } = await send({ timeout_ms: 20_000 }, { prefer: 'respond-async' });
    const view = await waitFor('the first attempt in the view', async () => {
      const { body: seen } = await gateway.api.get(`/v1/reaches/${body.reach_id}`);
      return seen.attempts?.length === 1 ? seen : undefined;
    });
    expect(view).toMatchObject({ status: 'running', attempts: [{ n: 1, code: 'agent_error', instance: 'desk-1' }] });
    expect((await gateway.api.ended(body.reach_id)).body).toMatchObject({ status: 'completed', attempts: 2 });
  });

  it.each(['', '/trace', ':cancel', '/result'])('of an unknown id%s is a 404 that tells nothing', async (suffix) => {
    const ids = [
      UNKNOWN,
      '/v1/reaches/nonsense',
      `/v1/reaches/${encodeURIComponent("' OR 1=1")}`,
      `/v1/reaches/${'x'.repeat(3_000)}`,
      '/v1/reaches/%E8%AE%A2%00',
      '/v1/reaches/..%2f..%2f',
    ];
    for (const id of ids) {
      if (suffix === '/result') expectProblem(await gateway.api.post(id + suffix, { output: {} }), 'unauthorized');
      else
        expectProblem(
          await (suffix === ':cancel' ? gateway.api.post(id + suffix) : gateway.api.get(id + suffix)),
          'not_found',
        );
    }
  });

  it.each(['-1', '61', '1.5', 'soon', '', '1&wait=2'])('refuses to wait for %j', async (wait) => {
    expectProblem(await gateway.api.get(`${UNKNOWN}?wait=${wait}`), 'invalid_request');
  });

  it('answers for a path that cannot be decoded, and for one that is not there', async () => {
    expectProblem(await gateway.api.get('/v1/reaches/%E0%A4%A'), 'invalid_request');
    expectProblem(await gateway.api.get('/v1/nothing/here'), 'not_found');
    expectProblem(await gateway.api.raw('PUT', '/v1/reaches', '{}'), 'not_found');
  });
});

describe('cancel', () => {
  it('is taken once or twice while the reach runs, and refused when it is over', async () => {
    agent.plays({ do: 'hang' });
    const { body } = await send({ timeout_ms: 20_000 }, { prefer: 'respond-async' });
    const cancel = () => gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`);
    await waitFor('the request', () => agent.journal[0]);
    // Together: the first may be through before a second one that waits for its answer is sent.
    const answers = await Promise.all([cancel(), cancel()]);
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 202, body: { reach_id: body.reach_id, cancelling: true } });
    expect((await gateway.api.ended(body.reach_id)).body).toMatchObject({
      status: 'cancelled',
      agent_name: 'desk',
      ended_at: expect.any(String),
      error: { code: 'reach_terminal', agent_name: 'desk', trace_id: body.trace_id },
    });
    expect(expectProblem(await cancel(), 'reach_terminal')).toMatchObject({ reach_id: body.reach_id });
  });

  it('of a completed reach is refused, and changes nothing', async () => {
    const { body } = await send();
    expectProblem(await gateway.api.post(`/v1/reaches/${body.reach_id}:cancel`), 'reach_terminal');
    expect((await gateway.api.get(`/v1/reaches/${body.reach_id}`)).body).toMatchObject({ status: 'completed' });
  });

  it('reaches the caller who waits', async () => {
    agent.plays({ do: 'hang' });
    const waiting = send({ timeout_ms: 20_000, message_id: `waited-for-${randomUUID()}` });
    const seen = await waitFor('the request', () => agent.journal[0]);
    await gateway.api.post(`/v1/reaches/${seen.call.reach_id}:cancel`);
    expect(expectProblem(await waiting, 'reach_terminal')).toMatchObject({
      reach_id: seen.call.reach_id,
      agent_name: 'desk',
      decision_id: expect.any(String),
    });
  });
});

describe('the list', () => {
  it('filters, pages and never takes a value for a query', async () => {
    const since = new Date().toISOString();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await send({ source_agent: SOURCE })).body.reach_id);
    agent.plays({ do: 'reject', message: 'no' });
    ids.push((await send({ source_agent: SOURCE })).body.reach_id);
    const query = (more: Record<string, string>) =>
      gateway.api.get(`/v1/reaches?${new URLSearchParams({ source: SOURCE, since, ...more })}`);
    // Lists are eventually consistent: a reach shows up before its end does.
    const whole = await waitFor('the end of all reaches in the list', async () => {
      const answer = await query({ agent: 'desk', ability: agent.ability });
      const ended = (answer.body.items ?? []).filter(({ ended_at }: { ended_at: string | null }) => ended_at !== null);
      return ended.length === 6 ? answer.body : undefined;
    });
    expect(new Set(whole.items.map((row: { reach_id: string }) => row.reach_id))).toEqual(new Set(ids));
    expect((await query({ agent: 'desk#1.0.0' })).body.items).toHaveLength(6);
    expect((await query({ agent: 'desk#1.0.1' })).body.items).toEqual([]);
    expect(whole.items[0]).toEqual({
      reach_id: ids[5],
      status: 'dead_lettered',
      ability: agent.ability,
      agent_name: 'desk',
      agent_version: '1.0.0',
      source_agent: SOURCE,
      accepted_at: expect.any(String),
      ended_at: expect.any(String),
      duration_ms: expect.any(Number),
    });
    expect((await query({ status: 'completed' })).body.items).toHaveLength(5);
    expect((await query({ status: 'dead_lettered' })).body.items).toHaveLength(1);
    expect((await query({ status: 'running' })).body.items).toEqual([]);
    expect((await query({ source: `nobody' OR ReachAgent != 'x` })).body.items).toEqual([]);
    expect((await query({ agent: '\\' })).body.items).toEqual([]);

    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = (await query({ limit: '2', ...(cursor && { cursor }) })).body as {
        items: { reach_id: string }[];
        next_cursor?: string;
      };
      seen.push(...page.items.map((row) => row.reach_id));
      cursor = page.next_cursor;
    } while (cursor);
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  it.each([
    'status=finished',
    'limit=0',
    'limit=201',
    'limit=two',
    'since=yesterday',
    'cursor=%20',
    'cursor=AAAA',
    'nonsense=1',
    'status=running&status=completed',
    'agent=',
  ])('refuses ?%s', async (query) => {
    expectProblem(await gateway.api.get(`/v1/reaches?${query}`), 'invalid_request');
  });
});

it('traces a reach from its history', async () => {
  agent.plays({ do: 'fail', message: 'db down' }, { do: 'answer', output: { answer: 'x' } });
  const { body } = await send();
  const { body: trace } = await gateway.api.get(`/v1/reaches/${body.reach_id}/trace`);
  expect(trace).toMatchObject({ trace_id: body.trace_id, reach_id: body.reach_id, status: 'completed' });
  expect(trace.hops.map(({ name, outcome, attempt }: JsonObject) => [name, outcome, attempt])).toEqual([
    ['route', 'ok', undefined],
    ['accept', 'ok', undefined],
    ['queue', 'ok', undefined],
    ['invoke', 'agent_error', 1],
    ['invoke', 'ok', 2],
  ]);
  expect(trace.hops[3]).toMatchObject({
    agent_name: 'desk',
    instance: 'desk-1',
    reason: expect.stringContaining('db down'),
  });
  for (const hop of trace.hops) expect(hop.duration_ms).toBeLessThanOrEqual(trace.duration_ms);
});

describe('an async reach', () => {
  it('waits for an agent to register, and then completes', async () => {
    const name = `latecomer_${randomUUID().slice(0, 8)}`;
    await registerDescriptor(gateway.api, descriptorOf({ name }, 'http'));
    const envelope = { ability: `${name}.work`, mode: 'async' };
    const { body, status } = await gateway.api.reach(envelope, { prefer: '' });
    expect([status, body.expires_in_ms, body.agent_name]).toEqual([202, 86_400_000, name]);
    expect((await gateway.api.get(`/v1/reaches/${body.reach_id}?wait=1`)).body.status).toBe('running');
    const latecomer = await startHttpAgent(gateway.api, { name });
    expect((await gateway.api.ended(body.reach_id)).body).toMatchObject({
      status: 'completed',
      agent_name: name,
      attempts: 1,
    });
    await latecomer.close();
  });

  it('expires when nobody comes', async () => {
    await registerDescriptor(gateway.api, descriptorOf({ name: 'nevercomer' }, 'http'));
    const { body } = await gateway.api.reach(
      { ability: 'nevercomer.work', mode: 'async', timeout_ms: 5_000 },
      { prefer: '' },
    );
    const { body: end } = await gateway.api.ended(body.reach_id);
    expect(end).toMatchObject({
      status: 'expired',
      attempts: [],
      error: { code: 'deadline_exceeded', last_error: { code: 'no_ready_instance' } },
    });
  });

  it('is refused for an ability that nobody knows', async () => {
    expectProblem(
      await gateway.api.reach({ ability: 'nobody.knows', mode: 'async' }, { prefer: '' }),
      'ability_not_found',
    );
  });
});

describe('the OpenAPI document', () => {
  it('describes what is really answered', async () => {
    const { body: document } = await gateway.api.get('/openapi.json');
    // Shared schemas of the document lie under `components`; those of a JSON Schema under `$defs`.
    const local = JSON.parse(
      JSON.stringify(document).replaceAll('#/components/schemas/', '#/$defs/'),
    ) as typeof document;
    const schemaOf = (path: string, method: string, status: number) => {
      const content = local.paths[path]?.[method]?.responses?.[status]?.content as
        Record<string, { schema: JsonObject }> | undefined;
      if (!content) throw new Error(`${method} ${path} answered ${status}, which is not in the document`);
      return { ...Object.values(content)[0]?.schema, $defs: local.components.schemas } as JsonObject;
    };
    agent.plays({ do: 'answer', output: { answer: 'x' } });
    const result = await send();
    agent.plays({ do: 'reject', message: 'no' });
    const failed = await send();
    const id = result.body.reach_id as string;
    const answers: [string, string, Awaited<ReturnType<typeof send>>][] = [
      ['/v1/reaches', 'post', result],
      ['/v1/reaches', 'post', failed],
      ['/v1/reaches', 'post', await send({}, { prefer: 'respond-async' })],
      ['/v1/reaches', 'post', await send({ ability: 'desk.wrok' })],
      ['/v1/reaches', 'post', await send({ timeout_ms: 'x' })],
      ['/v1/reaches', 'get', await gateway.api.get('/v1/reaches?limit=3')],
      ['/v1/reaches/{id}', 'get', await gateway.api.get(`/v1/reaches/${id}`)],
      ['/v1/reaches/{id}', 'get', await gateway.api.get(`/v1/reaches/${failed.body.reach_id}`)],
      ['/v1/reaches/{id}', 'get', await gateway.api.get(UNKNOWN)],
      ['/v1/reaches/{id}/trace', 'get', await gateway.api.get(`/v1/reaches/${failed.body.reach_id}/trace`)],
      ['/v1/reaches/{id}:cancel', 'post', await gateway.api.post(`/v1/reaches/${id}:cancel`)],
      ['/v1/agents', 'get', await gateway.api.get('/v1/agents')],
      ['/v1/agents/{name}', 'get', await gateway.api.get('/v1/agents/desk')],
      ['/v1/abilities', 'get', await gateway.api.get('/v1/abilities')],
      ['/v1/abilities/{name}', 'get', await gateway.api.get(`/v1/abilities/${agent.ability}`)],
      ['/v1/abilities:search', 'post', await gateway.api.post('/v1/abilities:search', { query: 'desk' })],
      ['/v1/route', 'post', await gateway.api.post('/v1/route', { ability: agent.ability, payload: {} })],
      ['/v1/route', 'post', await gateway.api.post('/v1/route', { ability: 'nobody.knows', payload: {} })],
      ['/healthz', 'get', await gateway.api.get('/healthz')],
      ['/readyz', 'get', await gateway.api.get('/readyz')],
    ];
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    const wrong = answers.flatMap(([path, method, { status, body }]) => {
      ajv.validate(schemaOf(path, method, status), body);
      return (ajv.errors ?? []).map(({ instancePath, message }) => [method, path, status, instancePath, message]);
    });
    expect(wrong).toEqual([]);
  });
});
