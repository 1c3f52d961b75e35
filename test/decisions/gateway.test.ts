/** The decision log through the public surface: two gateways of one platform, the API, the SDK and the command line. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentReachClient } from '../../src/sdk/client';
import { cli } from '../cli/cli-io';
import { startGateway, type TestGateway } from '../support/gateway';
import { startHttpAgent, type ScriptedHttpAgent } from '../support/scripted-http-agent';
import { expectProblem } from '../support/problem';
import { waitFor } from '../support/wait-for';

let one: TestGateway;
let other: TestGateway;
const agents: ScriptedHttpAgent[] = [];
const config = { decisions: { flush_interval: '100ms' }, router: { exploration: { rate: 0 } } };

beforeAll(async () => {
  one = await startGateway({ config });
  other = await startGateway({ config, platform: one.platform });
  const describe = (name: string, description: string) =>
    startHttpAgent(one.api, { name, capability: { name: 'help', description } });
  agents.push(await describe('refund_agent', 'refunds: when money comes back'));
  agents.push(await describe('parcel_agent', 'parcels: where a delivery is'));
  for (const gateway of [one, other])
    await waitFor('both agents are known', async () => (await gateway.api.get('/v1/agents')).body.items.length === 2);
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await Promise.all([one?.close(), other?.close()]);
});

const ask = (gateway: TestGateway, text: string, more: object = {}) =>
  gateway.api.reach({ ability: 'help', payload: { text }, ...more });

test('every decision can be looked up by the id in its receipt, at every gateway, and replayed', async () => {
  const since = new Date().toISOString();
  const refund = await ask(one, 'when does the money of my refund come back');
  const parcel = await ask(other, 'where is the delivery of my parcel');
  expect([refund.status, parcel.status]).toEqual([200, 200]);
  const { decision_id, reach_id, route_reason, agent_name } = refund.body;

  const own = await one.api.get(`/v1/decisions/${decision_id}`); // at once: it is this process's own
  expect(own.body).toMatchObject({ decision_id, reach_id, route_reason, chosen: { agent_name } });
  expect(own.body.candidates).toHaveLength(2);
  expect(own.body.inputs).toMatchObject({ text: 'when does the money of my refund come back' });
  for (const gateway of [one, other])
    await waitFor(
      'both decisions are there',
      async () => (await gateway.api.get(`/v1/decisions?ability=help&since=${since}`)).body.items.length === 2,
    );
  const elsewhere = await other.api.get(`/v1/decisions/${decision_id}`);
  expect(elsewhere.body).toEqual(own.body);

  const refused = await ask(one, 'x', { ability: 'helpp' });
  expectProblem(refused, 'ability_not_found');
  const listed = await one.api.get(`/v1/decisions?code=ability_not_found&reason=name_mismatch&since=${since}`);
  expect(listed.body.items).toMatchObject([{ decision_id: refused.body.decision_id, chosen: null, ability: 'helpp' }]);
  expect(listed.body.items[0].inputs).toBeUndefined();

  const client = new AgentReachClient({ url: other.url });
  const nothing = await client.decisions.replay({});
  expect(nothing).toMatchObject({ changed: 0, score_change: { max_absolute: 0 }, not_recomputed: { count: 0 } });
  const without = await client.decisions.replay({
    filter: { ability: 'help', since },
    changes: { without: [agent_name] },
  });
  expect(without).toMatchObject({ decisions: 2, recomputed: 2, changed: 1 });
  expect(without.listed).toMatchObject([
    { decision_id, reach_id, before: { agent_name, route_reason }, after: { agent_name: 'parcel_agent' } },
  ]);
  const model = await one.api.post('/v1/decisions:replay', { changes: { embeddings: { model: 'other' } } });
  expectProblem(model, 'invalid_request');
  expect(model.body.errors).toMatchObject([{ pointer: '/changes/embeddings' }]);
  await client.close();
});

test('bad questions are refused by pointer', async () => {
  const since = await one.api.get('/v1/decisions?since=yesterday&limit=0');
  expectProblem(since, 'invalid_request');
  expect(since.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual(['/limit', '/since']);
  const span = await one.api.get('/v1/decisions?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z');
  expect(span.body.errors).toMatchObject([{ pointer: '/until' }]);
  expectProblem(await one.api.get('/v1/decisions/0198f000-0000-7000-8000-000000000000'), 'not_found');
  const weights = { semantic_similarity: 0, latency_score: 0, reliability_score: 0 };
  expectProblem(await one.api.post('/v1/decisions:replay', { changes: { weights } }), 'weights_invalid');
  const state = { agent: 'refund_agent', state: 'ajar' };
  const breaker = await one.api.post('/v1/decisions:replay', { changes: { breakers: { states: [state] } } });
  expect(breaker.body.errors).toMatchObject([{ pointer: '/changes/breakers/states/0/state' }]);
});

test('the command line lists, shows, exports, and replays the export without the platform', async () => {
  const { decision_id } = (await ask(one, 'refund, please')).body;
  const at = ['--url', one.url];
  const list = await cli([...at, 'decisions', 'list', '--ability', 'help']);
  expect(list).toMatchObject({ code: 0, out: expect.stringContaining(decision_id) as string });
  const show = await cli([...at, 'decisions', 'show', decision_id]);
  expect(show.out).toMatch(/SIMILARITY × 0\.6/);
  expect(show.out).toMatch(/refund_agent#1\.0\.0 .*█/);
  expect((await cli([...at, 'decisions', 'show', 'nothing'])).code).toBe(1);

  const directory = mkdtempSync(join(tmpdir(), 'agent-reach-export-'));
  const file = join(directory, 'decisions.jsonl.gz');
  expect((await cli([...at, 'decisions', 'export', file])).code).toBe(0);
  const offline = ['decisions', 'replay', '--file', file, '--json'];
  const same = await cli(offline);
  expect(JSON.parse(same.out)).toMatchObject({ changed: 0, not_recomputed: { count: 0 } });
  const opened = await cli([...offline, '--breaker', 'refund_agent=open']);
  expect(JSON.parse(opened.out).changed).toBeGreaterThan(0);
  expect((await cli([...offline, '--breaker', 'refund_agent=open'])).out).toBe(opened.out); // byte for byte
  const people = await cli(['decisions', 'replay', '--file', file, '--without', 'refund_agent']);
  expect(people.out).toMatch(/would change/);
  expect(people.out).toMatch(/parcel_agent#1\.0\.0/);

  writeFileSync(join(directory, 'none.jsonl'), 'no json\n');
  const none = await cli(['decisions', 'replay', '--file', join(directory, 'none.jsonl')]);
  expect(none).toMatchObject({ code: 2, err: expect.stringContaining('none.jsonl:1') as string });
});
