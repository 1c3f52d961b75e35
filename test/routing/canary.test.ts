/** R21 through the public surface: the route table, its splits, the alert about a version that nobody lists. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cli } from '../cli/cli-io';
import { AgentReachClient } from '../../src/sdk/client';
import { ReachError } from '../../src/protocol/reach-error';
import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { eventually } from '../registry/support';

/** Agents at `/VERSION`, which say who they are, and the receiver of alerts at `/alerts`. */
const posted: { type: string; data: { kind: string; message: string; details: Record<string, unknown> } }[] = [];
let server: Server;
let origin: string;
let gateway: TestGateway;
let client: AgentReachClient;
let failed = false;

beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.url === '/alerts')
        posted.push(JSON.parse(Buffer.concat(parts).toString()) as (typeof posted)[number]);
      // The bad one fails every other call.
      if (request.url === '/6.6.6' && (failed = !failed)) response.statusCode = 500;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ served: request.url?.slice(1) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway = await startGateway({
    config: {
      alerts: { callback_url: `${origin}/alerts` },
      canary: { auto_rollback: { enabled: true, min_requests: 20, interval: 200 } },
      breaker: { enabled: false },
      ejection: { consecutive_failures: 1_000 },
    },
  });
  client = new AgentReachClient({ url: gateway.url });
}, 60_000);

afterAll(async () => {
  await client.close();
  await gateway.close();
  server.closeAllConnections();
  server.close();
});

const route = (ability: string, to: string, weight: unknown, from = 'default') => ({ ability, from, to, weight });
const register = (name: string, version: string) =>
  gateway.api.post('/v1/agents', {
    name,
    version,
    capabilities: ['mend'],
    endpoint: { protocol: 'http', address: `${origin}/${version}` },
  });

async function versionOf(agent: string, key: string): Promise<string> {
  const asked = { target_agent: agent, ability: 'mend', payload: {}, idempotency_key: key };
  return (await gateway.api.post('/v1/route', asked)).body.agent_version as string;
}

test('the table: read, written on condition, refused with pointers', async () => {
  const { api } = gateway;
  const first = await api.get('/v1/routes');
  expect(first.body).toEqual({ routes: [] });
  const etag = first.headers.etag!;
  expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
  expect((await api.get('/v1/routes', { headers: { 'if-none-match': etag } })).status).toBe(304);

  const table = { routes: [route('mend', 'mender#v1.0.0', 3), route('mend', 'mender#1.1.0', 1)] };
  const written = await api.put('/v1/routes', table, { headers: { 'if-match': etag } });
  expect(written.status).toBe(200);
  expect(written.body.routes[0].to).toBe('mender#1.0.0');
  expect(written.body.warnings).toHaveLength(2);
  expect((await api.get('/v1/routes')).headers.etag).toBe(written.headers.etag);

  const conditions: Record<string, string>[] = [
    { 'if-match': etag },
    { 'if-match': `W/${written.headers.etag}` },
    { 'if-none-match': '*' },
  ];
  for (const headers of conditions) {
    const lost = await api.put('/v1/routes', table, { headers });
    expect([lost.status, lost.body.code, lost.headers.etag]).toEqual([412, 'context_conflict', written.headers.etag]);
    expect([lost.body.title, lost.body.detail]).toEqual([
      expect.stringMatching(/route table/),
      expect.stringMatching(/merge/),
    ]);
  }
  for (const blank of ['', 'abc', '"a" "b"'])
    expectProblem(await api.put('/v1/routes', table, { headers: { 'if-match': blank } }), 'invalid_request');

  const good = table.routes[0]!;
  for (const weight of [-1, 0.5, '1', null, 1e10, true]) {
    const refused = await api.put('/v1/routes', { routes: [good, route('mend', 'mender#1.1.0', weight)] });
    expectProblem(refused, 'weights_invalid');
    expect(refused.body.errors[0].pointer).toBe('/routes/1/weight');
  }
  const zeros = await api.put('/v1/routes', {
    routes: [route('mend', 'mender#1.0.0', 0), route('mend', 'mender#1.1.0', 0)],
  });
  expectProblem(zeros, 'weights_invalid');
  for (const bad of [
    [good, good],
    [{ ...good, to: 'mender' }],
    [{ ...good, to: 'mender#1.2' }],
    [{ ...good, wight: 1 }],
    [route('a b', 'mender#1.0.0', 1)],
    Array.from({ length: 10_001 }, (_, n) => route('mend', 'mender#1.0.0', 1, `g${n}`)),
  ])
    expectProblem(await api.put('/v1/routes', { routes: bad }), 'invalid_request');
  expect((await api.get('/v1/routes')).headers.etag).toBe(written.headers.etag);
}, 60_000);

test('what it says goes for the next call; the version is marked in receipt, result, events and trace', async () => {
  for (const version of ['1.0.0', '1.1.0']) expect((await register('mender', version)).status).toBe(201);
  await client.routes.put([route('mend', 'mender#1.0.0', 0) as never, route('mend', 'mender#1.1.0', 1) as never]);
  const { body } = await gateway.api.reach({ ability: 'mend' });
  expect(body).toMatchObject({ status: 'completed', agent_version: '1.1.0', output: { served: '1.1.0' } });
  expect(body.route_reason).toContain('version 1.1.0 by its route');
  const trace = await gateway.api.get(`/v1/reaches/${body.reach_id}/trace`);
  const invoked = trace.body.hops.find((hop: { name: string }) => hop.name === 'invoke');
  expect(invoked).toMatchObject({ agent_name: 'mender', agent_version: '1.1.0' });

  const explained = await gateway.api.post('/v1/route', { ability: 'mend', payload: {}, idempotency_key: 'k-1' });
  expect(explained.body.versioning).toMatchObject({
    listed: [
      { version: '1.0.0', weight: 0 },
      { version: '1.1.0', weight: 1 },
    ],
    share: 1,
  });

  const meanwhile = await client.routes.get();
  await client.routes.update((routes) => routes.map((one) => ({ ...one, weight: 1 })));
  await expect(client.routes.put([], { ifMatch: meanwhile.etag })).rejects.toBeInstanceOf(ReachError);
}, 60_000);

test('the command line lists shares, sets what it is told, and writes a whole table on condition', async () => {
  const routes = (args: string[], stdin = '') =>
    cli(['routes', ...args], { env: { AGENT_REACH_URL: gateway.url }, stdin });
  const set = await routes(['set', 'paint', 'beta', 'artist#1.0.0=2', 'artist#1.1.0=1', 'artist#2.0.0=0']);
  expect(set).toMatchObject({ code: 0, err: '' });
  expect(set.out).toContain('there is no agent artist (yet)');
  const listed = await routes(['list', '--ability', 'paint']);
  expect(listed.out).toMatch(/paint +beta +artist#1\.0\.0 +2 +66\.7 %\n.*33\.3 %\n.*artist#2\.0\.0 +0 +none\n$/);
  const { out: whole } = await routes(['list', '--json']);
  expect(await routes(['set', '-'], whole)).toMatchObject({ code: 0, err: '' });
  expect((await routes(['set', 'paint', 'beta', 'artist#1.0.0=1'])).code).toBe(0);
  const lost = await routes(['set', '-'], whole);
  expect(lost.code).toBe(1);
  expect(lost.err).toContain('has changed since it was read');
  expect((await routes(['set', 'paint', 'beta', 'artist=1'])).code).toBe(2);
}, 60_000);

test('a new version that no route lists gets 1 %, and its alert on every channel, once', async () => {
  await client.routes.put([]);
  for (const version of ['2.0.0', '2.1.0']) expect((await register('novice', version)).status).toBeLessThan(300);
  const versions: string[] = [];
  for (let n = 0; n < 600; n += 20) {
    const dryRuns = Array.from({ length: 20 }, (_, i) => versionOf('novice', `k-${n + i}`));
    versions.push(...(await Promise.all(dryRuns)));
  }
  const newer = versions.filter((one) => one === '2.1.0').length;
  expect(newer).toBeGreaterThan(0);
  expect(newer).toBeLessThan(20);

  const alert = await eventually(() => posted.find(({ data }) => data.details.agent_name === 'novice'), 20_000);
  expect(alert).toMatchObject({
    type: 'agent-reach.alert.unlisted_version',
    data: {
      kind: 'unlisted_version',
      severity: 'warning',
      details: { agent_version: '2.1.0', beside: '2.0.0', share: 0.01 },
    },
  });
  expect(alert.data.message).toContain('agent-reach routes set mend default novice#2.0.0=95 novice#2.1.0=5');
  const metrics = await eventually(async () => {
    const { text } = await gateway.api.get('/metrics');
    return /agent_reach_events_published_total\{outcome="accepted"\} [1-9]/.test(text) && text;
  }, 10_000);
  expect(metrics).toMatch(/agent_reach_alerts_total\{kind="unlisted_version",severity="warning"\} [1-9]/);
  expect(posted.filter(({ data }) => data.details.agent_name === 'novice')).toHaveLength(1);
}, 60_000);

test('a canary that fails significantly more often is taken out of the traffic, with the figures', async () => {
  for (const version of ['5.0.0', '6.6.6']) expect((await register('patient', version)).status).toBeLessThan(300);
  await client.routes.put([route('mend', 'patient#5.0.0', 3) as never, route('mend', 'patient#6.6.6', 1) as never]);
  const call = (version: string) =>
    gateway.api.reach({ ability: 'mend', target_agent: `patient#${version}`, max_total_retries: 0 });
  const weightOf = async () => (await client.routes.get()).routes.find(({ to }) => to === 'patient#6.6.6')?.weight;
  for (let n = 0; n < 40 && (await weightOf()) !== 0; n += 1)
    await Promise.all(['5.0.0', '5.0.0', '6.6.6', '6.6.6', '6.6.6'].map(call));
  // The watch looks by a clock of its own.
  await eventually(async () => (await weightOf()) === 0);
  expect((await client.routes.get()).routes).toEqual([
    route('mend', 'patient#5.0.0', 3),
    route('mend', 'patient#6.6.6', 0),
  ]);
  const alert = await eventually(() => posted.find(({ data }) => data.kind === 'canary_rolled_back'), 20_000);
  expect(alert.data).toMatchObject({
    severity: 'critical',
    details: { by: 'failures', stable: 0, agent_version: '6.6.6' },
  });
  expect(alert.data.message).toMatch(
    /^patient 6\.6\.6 fails [3-9]\d\.\d % of its calls of mend, 5\.0\.0 0\.0 % \(p .*\): its weight is 0 now/,
  );
}, 120_000);
