/** The SDK and the command line against the real gateway. */
import { randomUUID } from 'node:crypto';
import { createColors } from 'picocolors';
import { AgentReachClient } from '../../src/sdk/client';
import { cli } from '../cli/cli-io';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { waitFor } from '../support/wait-for';
import { topicOf } from './support';

let gateway: TestGateway;
let agent: ScriptedHttpAgent;
let client: AgentReachClient;
const API_KEY = 'canary-5d2e';

beforeAll(async () => {
  gateway = await startGateway({ apiKey: API_KEY });
  agent = await startHttpAgent(gateway.api, { name: 'audit' });
  client = new AgentReachClient({ url: gateway.url, apiKey: API_KEY });
});
afterAll(async () => {
  await client.close();
  await agent.close();
  await gateway.close();
});
beforeEach(() => agent.plays());

/** A publish is answered after 2 s at the latest: on a busy machine its reaches may not be there yet. */
const waited = (id: string) => waitFor('the reach and its end', () => client.wait(id));

describe('AgentReachClient', () => {
  it('subscribes, publishes, and sees what became of it', async () => {
    const topic = topicOf('sdk');
    const id = `sdk-${randomUUID()}`;
    const subscription = await client.subscriptions.put(id, {
      topic,
      agent: 'audit',
      filter: { type: 'order.created', region: 'eu' },
    });
    expect(subscription).toMatchObject({ id, topic, agent: 'audit', created_at: expect.any(String) });
    expect(await client.subscriptions.get(id)).toEqual(subscription);
    const options = {
      source: '/shop',
      type: 'order.created',
      id: randomUUID(),
      subject: 'order/7',
      time: '2026-05-04T08:30:00Z',
      extensions: { region: 'eu', priority: 3, express: true },
      traceparent: `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`,
    };
    const published = await client.publish(topic, { order: 7 }, options);
    expect(published).toEqual({ event_id: options.id, matched: 1, reach_ids: [expect.any(String)] });
    expect(await client.publish(topic, { order: 7 }, options)).toEqual(published);
    const result = await waited(published.reach_ids[0]!);
    expect(result).toMatchObject({ status: 'completed', agent_name: 'audit', trace_id: 'c'.repeat(32) });
    expect(agent.journal.map(({ call }) => [call.payload, call.event?.attributes])).toEqual([
      [
        { order: 7 },
        {
          id: options.id,
          source: '/shop',
          type: 'order.created',
          subject: 'order/7',
          time: '2026-05-04T08:30:00Z',
          region: 'eu',
          priority: '3',
          express: 'true',
        },
      ],
    ]);
    await expect(client.publish(topic, { order: 8 }, options)).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    await client.subscriptions.delete(id);
    await expect(client.subscriptions.get(id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(client.subscriptions.get('')).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('makes up id, source and type, and takes any JSON as data', async () => {
    const topic = topicOf('any');
    await client.subscriptions.put(`any-${randomUUID()}`, { topic, ability: agent.ability });
    const [one, two] = [await client.publish(topic, ['a']), await client.publish(topic, 'text')];
    expect(one.event_id).not.toBe(two.event_id);
    await Promise.all([one, two].map(({ reach_ids }) => waited(reach_ids[0]!)));
    expect(agent.journal.map(({ call }) => call.payload)).toEqual(
      expect.arrayContaining([{ data: ['a'] }, { data: 'text' }]),
    );
    expect(agent.journal[0]!.call).toMatchObject({ source_agent: 'agent-reach-client', event: { topic } });
  });

  it('lists all pages', async () => {
    const topic = topicOf('pages');
    const ids = Array.from({ length: 3 }, (_, n) => `${randomUUID()}-${n}`).toSorted();
    for (const id of ids) await client.subscriptions.put(id, { topic, agent: 'audit' });
    const found: string[] = [];
    for await (const { id } of client.subscriptions.all({ topic })) found.push(id);
    expect(found).toEqual(ids);
    expect((await client.subscriptions.list({ topic, limit: 2 })).next_cursor).toEqual(expect.any(String));
  });
});

describe('agent-reach', () => {
  const env = () => ({ AGENT_REACH_URL: gateway.url, AGENT_REACH_API_KEY: API_KEY });
  const run = (args: string[], options: Parameters<typeof cli>[1] = {}) => cli(args, { env: env(), ...options });

  it('subscribes, lists in a table, publishes, and deletes', async () => {
    const topic = topicOf('cli');
    const id = `cli-${randomUUID()}`;
    const eventId = `order-${randomUUID()}`;
    const put = await run([
      ...['subscriptions', 'put', id, '--topic', topic, '--agent', 'audit'],
      ...['--exact', 'type=order.created', '--prefix', 'subject=eu/', '--suffix', 'subject=/7'],
    ]);
    expect([put.code, put.err, put.out]).toEqual([0, '', `✓ ${id}  ${topic} → audit\n`]);
    const listed = await run(['subscriptions', 'list', '--topic', topic]);
    expect(listed.out).toMatch(/^ID\s+TOPIC\s+AGENT\s+ABILITY\s+TYPE\s+SINCE\s+FILTER$/m);
    expect(listed.out).toMatch(
      new RegExp(
        `^${id}\\s+${topic}\\s+audit\\s+-\\s+-\\s+\\d+ s ago\\s+type=order.created subject=eu/… subject=…/7$`,
        'm',
      ),
    );
    const published = await run([
      ...['publish', topic, '-p', '{"order":7}', '--type', 'order.created', '--source', '/shop'],
      ...['--subject', 'eu/7', '--id', eventId, '--ext', 'region=eu', '--json'],
    ]);
    expect(published.code).toBe(0);
    const body = JSON.parse(published.out);
    expect(body).toEqual({ event_id: eventId, matched: 1, reach_ids: [expect.any(String)] });
    await waited(body.reach_ids[0]);
    expect(agent.journal[0]!.call.event?.attributes).toMatchObject({ subject: 'eu/7', region: 'eu' });
    const gone = await run(['subscriptions', 'delete', id]);
    expect([gone.code, gone.out]).toEqual([0, `✓ ${id}  deleted\n`]);
    expect((await run(['subscriptions', 'list', '--topic', topic])).out).toBe('No subscriptions.\n');
    const missing = await run(['subscriptions', 'delete', id]);
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('not_found')]);
  });

  it('tells people in colours who gets it, or that nobody listens', async () => {
    const topic = topicOf('told');
    const color = createColors(true);
    const nobody = await run(['publish', topic, '-p', '-'], { stdin: '[1]', color });
    expect(nobody.out).toContain(color.yellow('nobody listens'));
    await client.subscriptions.put(`told-${randomUUID()}`, { topic, agent: 'audit' });
    const somebody = await run(['publish', topic, '-p', '-'], { stdin: '{"n":1}', color });
    expect(somebody.out).toContain('goes to 1 subscriber\n');
    expect(somebody.out).toMatch(/agent-reach get r-[a-z2-7]{32}/);
  });

  it.each<[string, string[], RegExp]>([
    ['a payload that is no JSON', ['publish', 'a', '-p', '{'], /--payload/],
    ['a subscriber that is missing', ['subscriptions', 'put', 'x', '--topic', 'a'], /--agent/],
    ['a topic that is missing', ['subscriptions', 'put', 'x', '--agent', 'a'], /--topic/],
  ])('is a matter of usage: %s', async (_what, args, told) => {
    const { code, err } = await run(args);
    expect([code, err]).toEqual([2, expect.stringMatching(told)]);
  });

  it('ends with 1 when the gateway refuses', async () => {
    const { code, err } = await run(['publish', 'a..b']);
    expect([code, err]).toEqual([1, expect.stringContaining('invalid_request')]);
  });
});
