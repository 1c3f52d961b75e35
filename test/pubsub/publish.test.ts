import { randomUUID } from 'node:crypto';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { descriptorOf, registerDescriptor, type AgentDraft } from '../support/scripted-agent';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';
import { eventOf, publish, subscribe, topicOf } from './support';

let gateway: TestGateway;
let second: TestGateway;
let audit: ScriptedHttpAgent;
let mail: ScriptedHttpAgent;

/** How deep events that are answered with events may go. */
const MAX_DEPTH = 3;

beforeAll(async () => {
  const config = { nesting: { max_depth: MAX_DEPTH } };
  gateway = await startGateway({ config });
  second = await startGateway({ platform: gateway.platform, config });
  audit = await startHttpAgent(gateway.api, { name: 'audit', endpoint: { max_retry: 2 } });
  mail = await startHttpAgent(gateway.api, {
    name: 'mail',
    descriptor: { accepted_message_types: ['event', 'task'] },
  });
});
afterAll(async () => {
  await Promise.all([audit.close(), mail.close()]);
  await Promise.all([gateway.close(), second.close()]);
});
beforeEach(() => {
  audit.plays();
  mail.plays();
});

const agents: ScriptedHttpAgent[] = [];
afterEach(() => Promise.all(agents.splice(0).map((agent) => agent.close())));
/** An agent of one test. */
async function agentOf(draft: AgentDraft): Promise<ScriptedHttpAgent> {
  const agent = await startHttpAgent(gateway.api, draft);
  agents.push(agent);
  return agent;
}

/** A publish is answered after 2 s at the latest: on a busy machine its reaches may not be there yet. */
const ended = (ids: string[]) =>
  Promise.all(
    ids.map((id) =>
      waitFor('the reach and its end', async () => {
        const { status, body } = await gateway.api.ended(id);
        return status !== 404 && body;
      }),
    ),
  );
const send = (topic: string, more: Record<string, unknown> = {}) => publish(gateway.api, topic, eventOf(more));

describe('an event', () => {
  it('goes to everybody who listens to its topic, once, with its data and attributes', async () => {
    await subscribe(gateway.api, 'a-exact', { topic: 'orders.created', agent: 'audit' });
    await subscribe(gateway.api, 'm-below', { topic: 'orders.*', ability: mail.ability });
    await subscribe(gateway.api, 'other', { topic: 'refunds.*', agent: 'audit' });
    const event = eventOf({ subject: 'eu/7', data: { order: 7 }, priority: 3, time: '2026-05-04T08:30:00Z' });
    const answer = await publish(gateway.api, 'orders.created', event);
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({
      event_id: event.id,
      matched: 2,
      reach_ids: [expect.stringMatching(/^r-[a-z2-7]{32}$/), expect.stringMatching(/^r-/)],
    });
    const views = await ended(answer.body.reach_ids);
    expect(views.map(({ status }) => status)).toEqual(['completed', 'completed']);
    const attributes = {
      id: event.id,
      source: '/shop',
      type: 'order.created',
      subject: 'eu/7',
      priority: '3',
      time: '2026-05-04T08:30:00Z',
    };
    expect(audit.journal.map(({ call }) => call)).toEqual([
      expect.objectContaining({
        message_id: event.id,
        source_agent: '/shop',
        type: 'task',
        payload: { order: 7 },
        idempotency_key: answer.body.reach_ids[0],
        event: { topic: 'orders.created', subscription_id: 'a-exact', attributes },
      }),
    ]);
    expect(mail.journal.map(({ call }) => [call.type, call.event])).toEqual([
      ['event', { topic: 'orders.created', subscription_id: 'm-below', attributes }],
    ]);
  });

  it('that nobody listens to is accepted, and stays so for those who come later', async () => {
    const topic = topicOf('nobody');
    const repeated = async () => {
      const { text } = await second.api.get('/metrics');
      return Number(/^agent_reach_events_published_total\{outcome="repeated"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const before = await repeated();
    const event = eventOf();
    const nobody = { event_id: event.id, matched: 0, reach_ids: [] };
    expect((await publish(gateway.api, topic, event)).body).toEqual(nobody);
    await subscribe(gateway.api, `late-${randomUUID()}`, { topic, agent: 'audit' });
    expect((await publish(second.api, topic, event)).body).toEqual(nobody);
    expect((await publish(gateway.api, topic, eventOf())).body.matched).toBe(1);
    expect(await repeated()).toBe(before + 1);
  });

  it('is chosen by the filters of those who listen', async () => {
    const topic = topicOf('filtered');
    const ids = { type: randomUUID(), prefix: randomUUID(), both: randomUUID() };
    await subscribe(gateway.api, ids.type, { topic, agent: 'audit', filter: { type: 'order.created' } });
    await subscribe(gateway.api, ids.prefix, { topic, agent: 'audit', filter: { prefix: { subject: 'eu/' } } });
    await subscribe(gateway.api, ids.both, {
      topic,
      agent: 'audit',
      filter: { exact: { type: 'order.created' }, suffix: { subject: '/vip' }, tenant: '7' },
    });
    const matched = async (more: Record<string, unknown>) => (await send(topic, more)).body.matched;
    expect(await matched({ type: 'other' })).toBe(0);
    expect(await matched({ type: 'order.created' })).toBe(1);
    expect(await matched({ type: 'other', subject: 'eu/1' })).toBe(1);
    expect(await matched({ type: 'order.created', subject: 'eu/1/vip', tenant: 7 })).toBe(3);
    expect(await matched({ type: 'order.created', subject: 'us/1/vip', tenant: 8 })).toBe(1);
  });

  it('of an envelope is the same: its id and source are the message id and the sender', async () => {
    const topic = topicOf('enveloped');
    await subscribe(gateway.api, `e-${randomUUID()}`, { topic, agent: 'mail', filter: { region: 'eu' } });
    const envelope = {
      mode: 'event',
      topic,
      payload: { order: 9 },
      type: 'order.paid',
      message_id: randomUUID(),
      source_agent: 'shop',
      metadata: { region: 'eu', 'Not-An-Attribute': 'x' },
      timeout_ms: 60_000,
    };
    const answer = await gateway.api.post('/v1/reaches', envelope);
    expect([answer.status, answer.body]).toEqual([
      202,
      { event_id: envelope.message_id, matched: 1, reach_ids: [expect.stringMatching(/^r-/)] },
    ]);
    expect((await ended(answer.body.reach_ids))[0]).toMatchObject({ status: 'completed' });
    expect(mail.journal[0]!.call).toMatchObject({
      payload: { order: 9 },
      message_id: envelope.message_id,
      source_agent: 'shop',
      event: { attributes: { id: envelope.message_id, source: 'shop', type: 'order.paid', region: 'eu' } },
    });
    expect((await second.api.post('/v1/reaches', { ...envelope, timeout_ms: 50_000 })).body).toEqual(answer.body);
    expectProblem(
      await gateway.api.post('/v1/reaches', { ...envelope, payload: { order: 10 } }),
      'idempotency_key_reused',
    );
    const bad = expectProblem(await gateway.api.post('/v1/reaches', { ...envelope, ability: 'x' }), 'invalid_request');
    expect(bad.errors?.map(({ pointer }) => pointer)).toEqual(['/ability']);
    expectProblem(await gateway.api.post('/v1/reaches', { mode: 'event', payload: {} }), 'invalid_request');
  });

  it.each(['/v1/reaches', '/v1/alerts'])('cannot be from %s: from there only the platform tells', async (source) => {
    const told = await send(topicOf('forged'), { source });
    expect(expectProblem(told, 'forbidden').errors).toEqual([expect.objectContaining({ pointer: '/source' })]);
    const envelope = { mode: 'event', topic: topicOf('forged'), payload: {}, source_agent: source };
    const enveloped = expectProblem(await gateway.api.post('/v1/reaches', envelope), 'forbidden');
    expect(enveloped.errors).toEqual([expect.objectContaining({ pointer: '/source_agent' })]);
  });

  it('under an idempotency key is one event whatever ids it has', async () => {
    const topic = topicOf('keyed');
    await subscribe(gateway.api, `k-${randomUUID()}`, { topic, agent: 'mail' });
    const envelope = { mode: 'event', topic, payload: { n: 1 }, idempotency_key: randomUUID() };
    const first = await gateway.api.post('/v1/reaches', envelope);
    const again = await second.api.post('/v1/reaches', { ...envelope, message_id: 'another' });
    expect(again.body).toEqual(first.body);
    await ended(first.body.reach_ids);
    expect(mail.journal).toHaveLength(1);
  });
});

describe('the same event again', () => {
  it('gets the same answer and is delivered to nobody twice, also when fifty posts race over two gateways', async () => {
    const topic = topicOf('raced');
    for (const agent of ['audit', 'mail']) await subscribe(gateway.api, `r-${randomUUID()}`, { topic, agent });
    await waitFor('the other gateway to follow', async () => (await listening(second, topic)) === 2);
    const event = eventOf();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => publish((n % 2 ? gateway : second).api, topic, event)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]!.body.matched).toBe(2);
    const views = await ended(answers[0]!.body.reach_ids);
    expect(views.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(
      (await publish(second.api, topic, { ...event, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` })).text,
    ).toBe(answers[0]!.text);
    // Of this event: what an earlier test sent may still arrive.
    const ofThis = (agent: typeof audit) =>
      agent.journal
        .filter(({ call }) => JSON.stringify(call).includes(event.id as string))
        .map(({ call }) => call.reach_id);
    const ids = answers[0]!.body.reach_ids as string[];
    expect([...ofThis(audit), ...ofThis(mail)].toSorted()).toEqual(ids.toSorted());
  });

  it('with other content is refused, during and after', async () => {
    const topic = topicOf('changed');
    await subscribe(gateway.api, `c-${randomUUID()}`, { topic, agent: 'mail' });
    const event = eventOf();
    const { body } = await publish(gateway.api, topic, event);
    expectProblem(await publish(second.api, topic, { ...event, data: { order: 2 } }), 'idempotency_key_reused');
    await ended(body.reach_ids);
    for (const other of [
      { ...event, type: 'x' },
      { ...event, subject: 'y' },
      { ...event, data: { order: 2 } },
    ])
      expectProblem(await publish(gateway.api, topic, other), 'idempotency_key_reused');
    expectProblem(await publish(gateway.api, topicOf('changed'), event), 'idempotency_key_reused');
    expect((await publish(gateway.api, topic, { ...event, source: '/other' })).status).toBe(202);
  });
});

describe('a subscriber in trouble', () => {
  it('that fails harms no other, and its message can be redriven', async () => {
    const topic = topicOf('failing');
    await subscribe(gateway.api, `1-${randomUUID()}`, { topic, agent: 'audit' });
    await subscribe(gateway.api, `2-${randomUUID()}`, { topic, agent: 'mail' });
    audit.plays(
      { do: 'fail', message: 'down' },
      { do: 'fail', message: 'down' },
      { do: 'fail', message: 'still down' },
    );
    const event = eventOf({ data: { keep: 'me' }, subject: 's' });
    const [failing, fine] = (await publish(gateway.api, topic, event)).body.reach_ids as string[];
    expect(await ended([failing!, fine!])).toMatchObject([{ status: 'dead_lettered' }, { status: 'completed' }]);
    const letter = (await gateway.api.get(`/v1/dead-letters/${failing}`)).body;
    expect(letter).toMatchObject({
      error: { code: 'agent_error' },
      envelope: { payload: { keep: 'me' }, message_id: event.id, event: { topic, attributes: { subject: 's' } } },
    });
    expect(letter.attempts).toHaveLength(3);
    audit.plays();
    const redrives = await Promise.all(
      [gateway, second].map(({ api }) => api.post(`/v1/dead-letters/${failing}:redrive`)),
    );
    expect(redrives.map(({ status }) => status)).toEqual([202, 202]);
    expect(await ended([failing!])).toMatchObject([{ status: 'completed' }]);
    expect(audit.journal.map(({ call }) => call.message_id)).toEqual([event.id]);
  });

  it('with a poison message ahead of ten good ones gets the ten', async () => {
    const topic = topicOf('poison');
    await subscribe(gateway.api, `1-${randomUUID()}`, { topic, agent: 'audit' });
    audit.playsFor('poison', { do: 'reject', message: 'never' });
    const poison = await send(topic, { data: { case: 'poison' } });
    const good = await Promise.all(Array.from({ length: 10 }, (_, n) => send(topic, { data: { case: 'good', n } })));
    expect(await ended(poison.body.reach_ids)).toMatchObject([
      { status: 'dead_lettered', error: { code: 'agent_rejected' } },
    ]);
    const views = await ended(good.flatMap(({ body }) => body.reach_ids as string[]));
    expect(views.map(({ status }) => status)).toEqual(Array<string>(10).fill('completed'));
    expect(audit.journalOf('poison')).toHaveLength(1);
  });

  it('that nobody knows any more leaves a dead letter with the payload, which goes through once it is back', async () => {
    const topic = topicOf('removed');
    const gone = await agentOf({ name: `gone-${randomUUID().slice(0, 8)}` });
    await subscribe(gateway.api, `1-${randomUUID()}`, { topic, agent: gone.name });
    await subscribe(gateway.api, `2-${randomUUID()}`, { topic, agent: 'mail' });
    expect((await gateway.api.delete(`/v1/agents/${gone.name}`)).status).toBe(204);
    const [failing, fine] = (await send(topic, { data: { keep: 'it' } })).body.reach_ids as string[];
    expect(await ended([failing!, fine!])).toMatchObject([
      { status: 'dead_lettered', error: { code: 'agent_not_found' } },
      { status: 'completed' },
    ]);
    const listed = await waitFor('the dead letter in the list', async () =>
      ((await gateway.api.get('/v1/dead-letters')).body.items as { reach_id: string }[]).find(
        ({ reach_id }) => reach_id === failing,
      ),
    );
    expect(listed).toMatchObject({ agent_name: gone.name, error: { code: 'agent_not_found' } });
    const back = await agentOf({ name: gone.name });
    expect((await gateway.api.post(`/v1/dead-letters/${failing}:redrive`)).status).toBe(202);
    expect(await ended([failing!])).toMatchObject([{ status: 'completed', agent_name: gone.name }]);
    expect(back.journal.map(({ call }) => call.payload)).toEqual([{ keep: 'it' }]);
  });

  it('whose schema refuses the data leaves a dead letter, and the others are served', async () => {
    const topic = topicOf('refused');
    await registerDescriptor(
      gateway.api,
      descriptorOf({ name: 'strict', capability: { input_schema: { type: 'object', required: ['text'] } } }, 'http'),
    );
    await subscribe(gateway.api, `1-${randomUUID()}`, { topic, agent: 'strict' });
    await subscribe(gateway.api, `2-${randomUUID()}`, { topic, agent: 'mail' });
    const { reach_ids } = (await send(topic)).body;
    expect(await ended(reach_ids)).toMatchObject([
      { status: 'dead_lettered', error: { code: 'payload_schema_mismatch' } },
      { status: 'completed' },
    ]);
  });

  it('that is not ready is waited for, also when its subscription ends meanwhile', async () => {
    const topic = topicOf('absent');
    const subscription = `1-${randomUUID()}`;
    const name = `absent-${randomUUID().slice(0, 8)}`;
    await registerDescriptor(gateway.api, descriptorOf({ name }, 'http'));
    await subscribe(gateway.api, subscription, { topic, agent: name });
    const [id] = (await send(topic, { data: { waits: true } })).body.reach_ids as string[];
    await waitFor('the delivery', async () => (await gateway.api.get(`/v1/reaches/${id}`)).body.status === 'running');
    expect((await gateway.api.delete(`/v1/subscriptions/${subscription}`)).status).toBe(204);
    expect((await send(topic)).body.matched).toBe(0);
    const agent = await agentOf({ name });
    expect(await ended([id!])).toMatchObject([{ status: 'completed' }]);
    expect(agent.journal.map(({ call }) => call.payload)).toEqual([{ waits: true }]);
  });

  it('that is removed with messages pending leaves them as dead letters', async () => {
    const topic = topicOf('pending');
    const name = `pending-${randomUUID().slice(0, 8)}`;
    await registerDescriptor(gateway.api, descriptorOf({ name }, 'http'));
    await subscribe(gateway.api, `1-${randomUUID()}`, { topic, agent: name });
    const [id] = (await send(topic)).body.reach_ids as string[];
    await waitFor('the delivery', async () => (await gateway.api.get(`/v1/reaches/${id}`)).body.status === 'running');
    expect((await gateway.api.delete(`/v1/agents/${name}`)).status).toBe(204);
    expect(await ended([id!])).toMatchObject([{ status: 'dead_lettered', error: { code: 'agent_not_found' } }]);
  });
});

describe('an event that is published from a call', () => {
  const tokenOf = ({ headers }: { headers: Record<string, string> }) => ({
    'x-reach-token': headers['x-reach-token']!,
  });

  it("bears its agent's name and the trace of the call, and may come back to those above, but not for ever", async () => {
    const topic = topicOf('nested');
    // Its calls stay open: a token publishes no longer than its call is worked on.
    audit.plays({ do: 'accept' });
    const arrived = (count: number) => waitFor(`delivery ${count}`, () => audit.journal.length >= count);
    await subscribe(gateway.api, `n-${randomUUID()}`, { topic, agent: 'audit', filter: { prefix: { source: 'a' } } });
    const envelope = { mode: 'event', topic, payload: {}, source_agent: 'a-shop' };
    const traceparent = `00-${'e'.repeat(32)}-${'f'.repeat(16)}-01`;
    const first = await gateway.api.post('/v1/reaches', envelope, { headers: { traceparent } });
    expect(first.body.matched).toBe(1);
    await arrived(1);
    for (let depth = 1; depth < MAX_DEPTH; depth += 1) {
      const headers = tokenOf(audit.journal[depth - 1]!);
      const next = await gateway.api.post('/v1/reaches', { mode: 'event', topic, payload: { depth } }, { headers });
      expect([next.status, next.body.matched]).toEqual([202, 1]);
      await arrived(depth + 1);
      const [id] = next.body.reach_ids as string[];
      expect((await gateway.api.get(`/v1/reaches/${id}`)).body).toMatchObject({ trace_id: 'e'.repeat(32) });
    }
    expect(audit.journal.map(({ call }) => call.source_agent)).toEqual(['a-shop', 'audit', 'audit']);
    const last = { headers: tokenOf(audit.journal[MAX_DEPTH - 1]!) };
    expectProblem(
      await gateway.api.post('/v1/reaches', { mode: 'event', topic, payload: {} }, last),
      'delegation_loop',
    );
    const stolen = await gateway.api.post(
      '/v1/reaches',
      { ...envelope, source_agent: 'mail' },
      { headers: tokenOf(audit.journal[0]!) },
    );
    expectProblem(stolen, 'forbidden');
    const cloudEvent = { specversion: '1.0', id: randomUUID(), source: 'a-good-name', type: 'x', data: {} };
    const headers = { ...tokenOf(audit.journal[0]!), 'content-type': 'application/cloudevents+json' };
    await gateway.api.post(`/v1/topics/${topic}/events`, cloudEvent, { headers });
    await arrived(MAX_DEPTH + 1);
    expect(audit.journal.at(-1)!.call.source_agent).toBe('audit');
    audit.plays();
  });
});

it('tells how a reach ended to a topic, for who asks for that', async () => {
  const topic = topicOf('ends');
  await subscribe(gateway.api, `t-${randomUUID()}`, { topic, agent: 'mail' });
  audit.plays({ do: 'answer', output: { answer: 'done' } });
  const { body } = await gateway.api.reach({ target_agent: 'audit', reply_to: { topic } });
  await waitFor('the event', () => mail.journal.length > 0);
  expect(mail.journal.map(({ call }) => [call.type, call.event?.attributes, call.payload])).toEqual([
    [
      'event',
      expect.objectContaining({ source: '/v1/reaches', type: 'reach.completed' }),
      expect.objectContaining({ reach_id: body.reach_id, status: 'completed', output: { answer: 'done' } }),
    ],
  ]);
});

it('a publish is no reach: lists and GET do not know it', async () => {
  const topic = topicOf('hidden');
  await subscribe(gateway.api, `h-${randomUUID()}`, { topic, agent: 'mail' });
  const { reach_ids } = (await send(topic)).body;
  await ended(reach_ids);
  const ids = await waitFor('the list', async () => {
    const items = (await gateway.api.get('/v1/reaches?limit=200')).body.items as { reach_id: string }[];
    const found = items.map(({ reach_id }) => reach_id);
    return found.includes(reach_ids[0]) ? found : null;
  });
  expect(ids.filter((id) => !id.startsWith('r-'))).toEqual([]);
  expectProblem(await gateway.api.get(`/v1/reaches/e-${'a'.repeat(32)}`), 'not_found');
});

async function listening({ api }: TestGateway, topic: string): Promise<number> {
  return (await api.get(`/v1/subscriptions?topic=${topic}`)).body.items.length as number;
}
