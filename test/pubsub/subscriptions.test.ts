import { randomUUID } from 'node:crypto';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { startHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';
import { eventOf, publish, subscribe, topicOf } from './support';

let gateway: TestGateway;
let second: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({ withWorker: false });
  second = await startGateway({ platform: gateway.platform, withWorker: false });
});
afterAll(() => Promise.all([gateway.close(), second.close()]));

const pathOf = (id: string) => `/v1/subscriptions/${id}`;

describe('PUT', () => {
  it('creates, changes nothing the second time, and replaces', async () => {
    const id = `put-${randomUUID()}`;
    const body = { topic: 'orders.*', agent: 'audit#1.0.0', ability: 'record', filter: { type: 'x' }, type: 'event' };
    const created = await gateway.api.put(pathOf(id), body);
    expect([created.status, created.headers.location, created.body]).toEqual([
      201,
      pathOf(id),
      { id, ...body, created_at: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
    const again = await second.api.put(pathOf(id), Object.fromEntries(Object.entries(body).reverse()));
    expect([again.status, again.body]).toEqual([200, created.body]);
    const replaced = await second.api.put(pathOf(id), { topic: 'orders.*', agent: 'audit' });
    const { created_at } = created.body;
    expect([replaced.status, replaced.body]).toEqual([200, { id, topic: 'orders.*', agent: 'audit', created_at }]);
    expect((await gateway.api.get(pathOf(id))).body).toEqual(replaced.body);
  });

  it('by many at once leaves one of them whole', async () => {
    const id = `race-${randomUUID()}`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        [gateway, second][n % 2]!.api.put(pathOf(id), { topic: 'a', agent: `agent-${n}` }),
      ),
    );
    const statuses = answers.map(({ status }) => status).filter((status) => status !== 503);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(answers.map(({ body }) => body)).toContainEqual((await gateway.api.get(pathOf(id))).body);
  });

  it.each<[string, object, string]>([
    ['no topic', { agent: 'a' }, '/topic'],
    ['a topic that is none', { topic: 'a.*.b', agent: 'a' }, '/topic'],
    ['nobody', { topic: 'a' }, '/agent'],
    ['an agent with half a version', { topic: 'a', agent: 'a#1' }, '/agent'],
    ['an unknown key', { topic: 'a', agent: 'a', filters: {} }, '/filters'],
    ['a filter that is none', { topic: 'a', agent: 'a', filter: { type: 7 } }, '/filter/type'],
    ['a dialect that is none', { topic: 'a', agent: 'a', filter: { any: { type: 'x' } } }, '/filter/any'],
  ])('refuses %s', async (_what, body, pointer) => {
    const problem = expectProblem(await gateway.api.put(pathOf(`bad-${randomUUID()}`), body), 'invalid_request');
    expect(problem.errors?.map((one) => one.pointer)).toContain(pointer);
  });

  it('refuses an id that is none, and JSON that is not strict', async () => {
    const bad = expectProblem(await gateway.api.put(pathOf('a%2Fb'), { topic: 'a', agent: 'a' }), 'invalid_request');
    expect(bad.errors?.[0]?.pointer).toBe('/id');
    expectProblem(await gateway.api.put(pathOf('x'.repeat(65)), { topic: 'a', agent: 'a' }), 'invalid_request');
    const twice = '{"topic":"a","topic":"b","agent":"a"}';
    const headers = { 'content-type': 'application/json' };
    expectProblem(await gateway.api.raw('PUT', pathOf('twice'), twice, { headers }), 'duplicate_key');
  });
});

it('is gone after DELETE, for every gateway', async () => {
  const id = `gone-${randomUUID()}`;
  const topic = topicOf('gone');
  await subscribe(gateway.api, id, { topic, agent: 'audit' });
  expect((await second.api.delete(pathOf(id))).status).toBe(204);
  expectProblem(await second.api.delete(pathOf(id)), 'not_found');
  expectProblem(await gateway.api.get(pathOf(id)), 'not_found');
  await waitFor('the first gateway to follow', async () => {
    const { body } = await gateway.api.get(`/v1/subscriptions?topic=${topic}`);
    return body.items.length === 0;
  });
});

it('lists by id, page by page, by topic, agent and ability', async () => {
  const topic = topicOf(`listed-${randomUUID().slice(0, 8)}`);
  const ids = Array.from({ length: 5 }, (_, n) => `${topic}.${n}`.slice(-60));
  for (const id of ids) await subscribe(gateway.api, id, { topic, agent: 'lister#1.0.0', ability: 'record' });
  await subscribe(gateway.api, `below-${randomUUID()}`, { topic: `${topic.split('.')[0]}.*`, agent: 'other' });
  const found: string[] = [];
  let query = `?agent=lister&ability=record&topic=${topic}&limit=2`;
  let pages = 0;
  for (let next: string | undefined = query; next !== undefined; pages += 1) {
    const { body } = await gateway.api.get(`/v1/subscriptions${next}`);
    found.push(...(body.items as { id: string }[]).map(({ id }) => id));
    next = body.next_cursor === undefined ? undefined : `${query}&cursor=${body.next_cursor}`;
  }
  expect([found, pages]).toEqual([ids, 3]);
  query = `?topic=${topic}`;
  expect((await gateway.api.get(`/v1/subscriptions${query}`)).body.items).toHaveLength(6);
  expectProblem(await gateway.api.get('/v1/subscriptions?limit=0'), 'invalid_request');
  expectProblem(await gateway.api.get('/v1/subscriptions?agents=x'), 'invalid_request');
});

describe('publishing', () => {
  it.each<[string, string, string]>([
    ['a topic that is none', 'orders..created', 'invalid_request'],
    ['a pattern', 'orders.*', 'invalid_request'],
  ])('to %s is refused', async (_what, topic, code) => {
    expectProblem(await publish(gateway.api, topic, eventOf()), code as 'invalid_request');
  });

  it('is refused where the event is wrong, too large, or none', async () => {
    const post = (headers: Record<string, string>, body?: string) =>
      gateway.api.raw('POST', '/v1/topics/orders/events', body, { headers });
    expectProblem(await publish(gateway.api, 'orders', eventOf({ id: undefined })), 'invalid_request');
    expectProblem(await publish(gateway.api, 'orders', eventOf({ data: 'x'.repeat(98_304) })), 'payload_too_large');
    expectProblem(await post({ 'content-type': 'application/json' }, '{}'), 'unsupported_media_type');
    expectProblem(await post({}), 'unsupported_media_type');
    expectProblem(await post({ 'content-type': 'application/cloudevents-batch+json' }, '[]'), 'unsupported_media_type');
    expectProblem(await post({ 'ce-id': '1', 'ce-specversion': '1.0' }), 'invalid_request');
    expectProblem(await gateway.api.get('/v1/topics/orders/events'), 'not_found');
  });

  it('needs no worker to be accepted: the event waits for one', async () => {
    const topic = topicOf('patient');
    const agent = await startHttpAgent(gateway.api, { name: 'audit' });
    await subscribe(gateway.api, `p-${randomUUID()}`, { topic, agent: 'audit' });
    const answer = await gateway.api.raw('POST', `/v1/topics/${topic}/events`, JSON.stringify({ n: 1 }), {
      headers: {
        'content-type': 'application/json',
        'ce-specversion': '1.0',
        'ce-id': randomUUID(),
        'ce-source': '/shop',
        'ce-type': 'x',
        prefer: 'respond-async',
      },
    });
    expect([answer.status, answer.body.matched]).toEqual([202, 1]);
    expect(answer.ms).toBeLessThan(1_900);
    const [id] = answer.body.reach_ids as string[];
    expectProblem(await gateway.api.get(`/v1/reaches/${id}`), 'not_found');
    const withWorker = await startGateway({ platform: gateway.platform });
    await waitFor('the delivery', () => agent.journal.length > 0, 20_000);
    expect((await gateway.api.ended(id!)).body).toMatchObject({ status: 'completed', agent_name: 'audit' });
    await agent.close();
    await withWorker.close();
  });
});
