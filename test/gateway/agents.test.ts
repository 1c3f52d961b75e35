import { startGateway, type TestGateway } from '../support/gateway';
import { expectProblem } from '../support/problem';
import { descriptorOf } from '../support/scripted-agent';
import { waitFor } from '../support/wait-for';
import { Api } from '../support/api';

/** Spellings of places that nobody may have called (S05). */
const INSIDE = [
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0177.0.0.1/',
  'http://127.1/',
  'http://①②⑦.0.0.1/',
  'http://localhost./',
  'http://LOCALHOST:9000/',
  'http://a.localhost/',
  'http://0/',
  'http://[::1]/',
  'http://[::ffff:7f00:1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://169.254.169.254/latest/',
  'http://[fd00::1]/',
  'http://[fe80::1]/',
  'http://100.64.0.1/',
  'http://10.1.2.3/',
  'http://192.168.0.1/',
  'http://user:pw@example.com/',
  'file:///etc/passwd',
  'gopher://x/',
  'http://example.com:6379/',
  'not a url',
];
const KEY = 'correct horse';

let open: TestGateway;
let strict: TestGateway;
beforeAll(async () => {
  open = await startGateway({ withWorker: false });
  strict = await startGateway({
    withWorker: false,
    apiKey: 'correct-horse',
    config: { security: { egress_allow: [] } },
  });
});
afterAll(async () => {
  await open.close();
  await strict.close();
});

const register = (draft: Parameters<typeof descriptorOf>[0], query = '') =>
  open.api.post(`/v1/agents${query}`, descriptorOf(draft, 'http'));

describe('a descriptor', () => {
  it('is created, found, unchanged, refused with other content, replaced, and removed', async () => {
    await open.api.delete('/v1/agents/alpha'); // of a first run that failed
    const created = await register({ name: 'alpha' });
    expect(created).toMatchObject({
      status: 201,
      headers: { location: '/v1/agents/alpha' },
      body: { name: 'alpha', version: '1.0.0', outcome: 'created', dry_run: false, warnings: expect.any(Array) },
    });
    expect((await open.api.get('/v1/agents/alpha')).body).toMatchObject({
      name: 'alpha',
      versions: [{ version: '1.0.0', descriptor: { name: 'alpha' } }],
      instances: [],
      status: 'unavailable',
    });
    expect((await open.api.get('/v1/abilities/alpha.work')).body.agents).toEqual([
      expect.objectContaining({ agent_name: 'alpha' }),
    ]);
    expect(await register({ name: 'alpha' })).toMatchObject({ status: 200, body: { outcome: 'unchanged' } });
    const changed = { name: 'alpha', descriptor: { description: 'changed' } };
    expectProblem(await register(changed), 'version_exists');
    expect(await register(changed, '?replace=true')).toMatchObject({ status: 200, body: { outcome: 'replaced' } });
    expect((await open.api.get('/v1/agents/alpha')).body.versions[0].descriptor.description).toBe('changed');
    // Who wants to be rid of one version must not lose them all.
    for (const query of ['?version=', '?version=1', '?versoin=1.0.0'])
      expectProblem(await open.api.delete(`/v1/agents/alpha${query}`), 'invalid_request');
    expect((await open.api.delete('/v1/agents/alpha')).status).toBe(204);
    expectProblem(await open.api.get('/v1/agents/alpha'), 'agent_not_found');
    expectProblem(await open.api.delete('/v1/agents/alpha'), 'agent_not_found');
  });

  it('loses one version, with all that was of it, and keeps the others', async () => {
    const at = '/v1/agents/lambda';
    await open.api.delete(at); // of a first run that failed
    const pods = (version: string, count: number) =>
      Promise.all(
        Array.from({ length: count }, async (_, n) => {
          const id = `g${version[0]}-${n}`;
          const host = 'http://127.0.0.1:9009/';
          return { id, ...(await open.api.put(`${at}/instances/${id}`, { version, host })).body } as {
            id: string;
            epoch: string;
          };
        }),
      );
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) await register({ name: 'lambda', descriptor: { version } });
    // More than one transaction removes.
    const old = await pods('1.0.0', 30);
    await pods('2.0.0', 1);
    const held = `${at}/abilities/lambda.work/breaker`;
    for (const version of ['1.0.0', '2.0.0'])
      await open.api.put(held, { state: 'open', reason: 'maintenance', version });
    const routes = [{ ability: 'lambda.work', from: 'default', to: 'lambda#1.0.0', weight: 1 }];
    await open.api.put('/v1/routes', { routes });

    const missing = expectProblem(await open.api.delete(`${at}?version=4.0.0`), 'version_not_found');
    expect(missing.diagnosis?.available_versions).toEqual(['3.0.0', '2.0.0', '1.0.0']);
    expectProblem(await open.api.delete('/v1/agents/nobody_here?version=1.0.0'), 'agent_not_found');
    expect(await open.api.delete(`${at}?version=v1.0.0`)).toMatchObject({
      status: 200,
      body: {
        agent_name: 'lambda',
        agent_version: '1.0.0',
        instances: old.map(({ id }) => id).sort(),
        breakers: ['lambda.work'],
        versions_left: ['3.0.0', '2.0.0'],
        warnings: [expect.stringContaining('lambda#1.0.0 for lambda.work (default)')],
      },
    });
    const { body } = await open.api.get(at);
    expect(body.versions.map(({ version }: { version: string }) => version)).toEqual(['3.0.0', '2.0.0']);
    // Nobody of it is left, nor taken for lost.
    expect(body.instances.map((one: { instance_id: string }) => one.instance_id)).toEqual(['g2-0']);
    const beat = { epoch: old[0]!.epoch, status: 'ready', load: 0 };
    expectProblem(await open.api.post(`${at}/instances/g1-0/heartbeat`, beat), 'lease_expired');
    expectProblem(await open.api.put(`${at}/instances/g1-0`, { version: '1.0.0' }), 'version_not_found');
    const { items } = (await open.api.get('/v1/breakers')).body;
    const ours = items.filter((one: { agent_name: string }) => one.agent_name === 'lambda');
    expect(ours.map((one: { agent_version: string }) => one.agent_version)).toEqual(['2.0.0']);
    expectProblem(await open.api.delete(`${at}?version=1.0.0`), 'version_not_found');

    for (const version of ['3.0.0', '2.0.0'])
      expect((await open.api.delete(`${at}?version=${version}`)).status).toBe(200);
    expectProblem(await open.api.get(at), 'agent_not_found');
    // Its ability names are free again.
    expect((await register({ name: 'lambda', descriptor: { version: '1.0.0' } })).status).toBe(201);
    await open.api.delete(at);
    await open.api.put('/v1/routes', { routes: [] });
  });

  it('and its neighbours are listed page by page; a parameter that nobody knows is refused', async () => {
    for (const name of ['page_a', 'page_b', 'page_c']) await register({ name });
    const names: string[] = [];
    let cursor = '';
    do {
      const { body } = await open.api.get(`/v1/agents?limit=2${cursor && `&cursor=${cursor}`}`);
      names.push(...body.items.map((one: { name: string }) => one.name));
      cursor = body.next_cursor ?? '';
    } while (cursor);
    expect(names).toEqual(expect.arrayContaining(['page_a', 'page_b', 'page_c']));
    expect(names).toEqual([...new Set(names)].sort());
    expect((await open.api.get('/v1/agents/page_a')).body.stats.queue_depth).toBe(0);
    const odd = expectProblem(await open.api.get('/v1/agents?lmit=2'), 'invalid_request');
    expect(odd.errors).toEqual([{ pointer: '/lmit', message: 'is not a known key', fix: 'did you mean limit?' }]);
    expectProblem(await open.api.get('/v1/agents/page_a?verbose=1'), 'invalid_request');
    expectProblem(await open.api.post('/v1/reaches?wait=5', { ability: 'x' }), 'invalid_request');
    // Who may not ask is not told what there is.
    expectProblem(
      await strict.api.raw('GET', '/v1/agents?lmit=2', undefined, { headers: { authorization: '' } }),
      'unauthorized',
    );
  });

  it('is only judged with dry_run', async () => {
    expect(await register({ name: 'dry' }, '?dry_run=true')).toMatchObject({
      status: 200,
      body: { outcome: 'created', dry_run: true },
    });
    expectProblem(await open.api.get('/v1/agents/dry'), 'agent_not_found');
    for (const query of ['?dry_run=yes', '?force=true', '?dry_run=true&dry_run=false'])
      expectProblem(await register({ name: 'dry' }, query), 'invalid_request');
  });

  it('may be YAML, and is as strict', async () => {
    await open.api.delete('/v1/agents/in_yaml'); // of a first run that failed
    const post = (text: string, type = 'application/yaml') =>
      open.api.raw('POST', '/v1/agents', text, { headers: { 'content-type': type } });
    const yaml = 'name: in_yaml\nversion: 1.2.3\ncapabilities:\n  - 开发票\nendpoint: { protocol: http }\n';
    expect((await post(`\uFEFF${yaml}`)).status).toBe(201);
    expect((await post(yaml, 'text/yaml; charset=utf-8')).status).toBe(200);
    expect((await open.api.get(`/v1/abilities/${encodeURIComponent('开发票')}`)).status).toBe(200);
    const twice = expectProblem(await post(`${yaml}version: 1.2.4\n`), 'duplicate_key');
    expect(JSON.stringify(twice)).toContain('version');
    const retyped = expectProblem(await post(yaml.replace('1.2.3', '1.10')), 'invalid_descriptor');
    expect(retyped.errors).toEqual([expect.objectContaining({ pointer: '/version' })]);
    expectProblem(
      await post(
        'a: &a [x,x]\n'.replace('a:', 'name:') + Array.from({ length: 500 }, (_, n) => `m${n}: *a\n`).join(''),
      ),
      'invalid_descriptor',
    );
    expectProblem(await post(`x: ${'['.repeat(5_000)}${']'.repeat(5_000)}`), 'input_too_deep');
    expectProblem(await post(yaml, 'text/plain'), 'unsupported_media_type');
    expectProblem(await post(yaml, 'application/json'), 'invalid_descriptor');
    expect((await open.api.get('/healthz')).ms).toBeLessThan(10_000);
  });
});

describe('an instance', () => {
  const at = '/v1/agents/beta/instances/b-1';
  beforeAll(() => register({ name: 'beta', descriptor: { max_concurrency: 4 } }));

  it('is registered under a growing epoch, beats, and leaves', async () => {
    const host = 'http://127.0.0.1:9009/';
    const once = await open.api.put(at, { version: '1.0.0', host, ttl_sec: 60, max_concurrency: 2 });
    expect(once).toMatchObject({
      status: 200,
      body: { lease_id: expect.any(String), epoch: expect.stringMatching(/^\d+$/), ttl_sec: 60 },
    });
    const shown = (await open.api.get('/v1/agents/beta')).body;
    expect(shown).toMatchObject({
      status: 'ready',
      instances: [
        {
          instance_id: 'b-1',
          host,
          version: '1.0.0',
          status: 'ready',
          max_concurrency: 2,
          lease_remaining_sec: expect.any(Number),
          last_heartbeat: expect.any(String),
          health: 'unknown',
          source: 'lease',
        },
      ],
    });

    const again = await open.api.put(at, { version: 'v1.0.0', host });
    expect(BigInt(again.body.epoch)).toBeGreaterThan(BigInt(once.body.epoch));
    const beat = (more: object) =>
      open.api.post(`${at}/heartbeat`, { epoch: again.body.epoch, status: 'ready', load: 0.25, ...more });
    expect((await beat({})).body.remaining_sec).toBeGreaterThan(20);
    expect((await beat({ epoch: Number(again.body.epoch), renew: true })).status).toBe(200);
    expectProblem(await beat({ epoch: once.body.epoch }), 'stale_epoch');
    await beat({ in_flight: 4 });
    await waitFor('busy in the view', async () => (await open.api.get('/v1/agents/beta')).body.status === 'busy');

    expectProblem(await open.api.delete(`${at}?epoch=${once.body.epoch}`), 'stale_epoch');
    expectProblem(await open.api.delete(at), 'invalid_request');
    expectProblem(await open.api.delete(`${at}?epoch=abc`), 'invalid_request');
    expect((await open.api.delete(`${at}?epoch=${again.body.epoch}`)).status).toBe(204);
    expectProblem(await beat({}), 'lease_expired');
    expect((await open.api.delete(`${at}?epoch=${again.body.epoch}`)).status).toBe(204);
  });

  it('must fit its agent', async () => {
    expectProblem(await open.api.put('/v1/agents/nobody/instances/n-1', { version: '1.0.0' }), 'agent_not_found');
    expectProblem(await open.api.put(at, { version: '9.0.0' }), 'version_not_found');
    expectProblem(await open.api.put(at, { version: '1' }), 'invalid_request');
    expectProblem(await open.api.put(at, {}), 'invalid_request');
    expectProblem(await open.api.put(at, { version: '1.0.0', ttl_sec: 0 }), 'invalid_request');
    expectProblem(
      await open.api.put(`/v1/agents/beta/instances/${encodeURIComponent('a/b')}`, { version: '1.0.0' }),
      'invalid_request',
    );
    for (const wrong of [
      { status: 'asleep' },
      { load: -1 },
      { load: 'much' },
      { epoch: null },
      { epoch: 1.5 },
      { in_flight: -1 },
    ]) {
      expectProblem(
        await open.api.post(`${at}/heartbeat`, { epoch: '1', status: 'ready', load: 0, ...wrong }),
        'invalid_request',
      );
    }
    expectProblem(
      await open.api.post('/v1/agents/beta/instances/unknown/heartbeat', { epoch: '1', status: 'ready', load: 0 }),
      'lease_expired',
    );
  });

  it('of a worker learns at once where its work is, however fresh its descriptor', async () => {
    for (let n = 0; n < 10; n += 1) {
      const descriptor = descriptorOf({ name: `pull_${n}` }, 'worker');
      await open.api.post('/v1/agents', descriptor);
      const { body } = await open.api.put(`/v1/agents/pull_${n}/instances/p`, { version: '1.0.0' });
      expect(body.worker).toEqual({
        address: process.env.TEST_TEMPORAL_ADDRESS,
        namespace: 'default',
        task_queue: `agent-reach.pull_${n}@1.0.0`,
      });
    }
  });
});

describe('an address that points inside', () => {
  it('is refused as endpoint and as host of an instance, in every spelling, and nothing is kept', async () => {
    for (const name of ['instanced', 'outside']) await strict.api.delete(`/v1/agents/${name}`); // of a first run that failed
    expect((await strict.api.post('/v1/agents', descriptorOf({ name: 'instanced' }, 'http'))).status).toBe(201);
    for (const address of INSIDE) {
      for (const endpoint of [{ address }, { address: ['https://example.com/', address] }]) {
        expectProblem(
          await strict.api.post('/v1/agents', descriptorOf({ name: 'inside', endpoint }, 'http')),
          'callback_url_forbidden',
        );
      }
      expectProblem(
        await strict.api.put('/v1/agents/instanced/instances/i-1', { version: '1.0.0', host: address }),
        'callback_url_forbidden',
      );
    }
    expectProblem(await strict.api.get('/v1/agents/inside'), 'agent_not_found');
    expect((await strict.api.get('/v1/agents/instanced')).body.instances).toEqual([]);
    expect(
      (
        await strict.api.post(
          '/v1/agents',
          descriptorOf({ name: 'outside', endpoint: { address: 'https://agents.example.com/invoke' } }, 'http'),
        )
      ).status,
    ).toBe(201);
  });

  it('stays refused where the operator allows another range', async () => {
    for (const address of ['http://169.254.169.254/', 'http://[::1]/', 'http://0.0.0.0/', 'http://10.0.0.1/']) {
      expectProblem(await register({ name: 'elsewhere', endpoint: { address } }), 'callback_url_forbidden');
    }
  });
});

describe('the API key', () => {
  const anonymous = () => new Api(strict.url);
  it.each([
    ['none', {}],
    ['a wrong one', { authorization: 'Bearer wrong' }],
    ['a longer one', { authorization: 'Bearer correct-horse-battery' }],
    ['an empty one', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: 'Basic correct-horse' }],
    ['a wrong one in the other header', { 'x-api-key': 'wrong' }],
    ['two words', { authorization: `Bearer ${KEY}` }],
  ])('refuses %s before it reads anything', async (_what, headers) => {
    const api = anonymous();
    for (const path of ['/v1/agents', '/v1/reaches', '/v1/abilities', '/v1/nothing']) {
      const answer = await api.get(path, { headers });
      expect(expectProblem(answer, 'unauthorized').detail).not.toContain('correct-horse');
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
    expectProblem(await api.raw('POST', '/v1/reaches', 'x'.repeat(3_000_000), { headers }), 'unauthorized');
    await api.close();
  });

  it.each([
    { authorization: 'Bearer correct-horse' },
    { authorization: 'bearer  correct-horse' },
    { 'x-api-key': 'correct-horse' },
  ] as Record<string, string>[])('is taken as %j', async (headers) => {
    const api = anonymous();
    expect((await api.get('/v1/agents', { headers })).status).toBe(200);
    await api.close();
  });

  it('is not needed by those who look after the process', async () => {
    const api = anonymous();
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs/'])
      expect([path, (await api.get(path)).status]).toEqual([path, 200]);
    await api.close();
  });
});

it('says that it is ready, and to what it is connected', async () => {
  expect((await open.api.get('/readyz')).body).toMatchObject({
    ready: true,
    draining: false,
    temporal: 'ok',
    registry: { connected: true, last_sync_age_ms: expect.any(Number) },
  });
});

it('explains a route without sending anything', async () => {
  await register({ name: 'gamma', endpoint: { address: 'http://127.0.0.1:9009/' } });
  const explained = await open.api.post('/v1/route', { ability: 'gamma.work', payload: {} });
  expect(explained.body).toMatchObject({
    agent_name: 'gamma',
    agent_version: '1.0.0',
    strategy: 'score_based',
    route_reason: expect.any(String),
    candidates: [
      { agent_name: 'gamma', score: expect.any(Number), factors: expect.any(Object), instances: [expect.any(Object)] },
    ],
    excluded: [],
  });
  expect((await open.api.post('/v1/route', { ability: 'gamma.wrok', payload: {} })).body).toMatchObject({
    agent_name: null,
    code: 'ability_not_found',
    diagnosis: { closest: [{ name: 'gamma.work' }] },
  });
  expect((await open.api.post('/v1/abilities:search', { query: 'what gamma does' })).body.results[0]).toMatchObject({
    ability: 'gamma.work',
    agent_name: 'gamma',
  });
  expectProblem(await open.api.post('/v1/abilities:search', { query: '  ' }), 'invalid_request');
  expectProblem(await open.api.post('/v1/abilities:search', { query: '汉'.repeat(6_000) }), 'payload_too_large');
});

it('keeps /metrics to labels that callers cannot invent', async () => {
  const lines = async () => (await open.api.get('/metrics')).text.split('\n');
  const noise = async (round: string) => {
    for (let n = 0; n < 60; n += 1) {
      const odd = `${round}-${n}`;
      await Promise.all([
        open.api.get(`/wp-admin/${odd}.php`),
        open.api.get(`/v1/${odd}/x`),
        open.api.get(`/v1/reaches/r-${odd.padEnd(32, 'a').replace(/[^a-z2-7]/g, 'b')}`),
        open.api.get(`/v1/agents/${odd}`),
        open.api.get(`/v1/abilities/${odd}`),
        open.api.post('/v1/reaches', { ability: odd, payload: {} }),
        open.api.post('/v1/reaches', { [odd]: 1 }),
        open.api.raw(n % 2 ? 'PROPFIND' : 'PATCH', `/${odd}`, undefined, { headers: { 'x-tenant': odd } }),
      ]);
    }
  };
  await lines();
  await noise('first');
  const before = await lines();
  await noise('second');
  const series = (all: string[]) =>
    all.filter((line) => line.startsWith('agent_reach_')).map((line) => line.split(' ')[0]);
  expect(series(await lines()).filter((line) => !series(before).includes(line))).toEqual([]);
  const { text } = await open.api.get('/metrics');
  expect(text).toMatch(
    /agent_reach_http_requests_total\{route="unmatched",method="GET",status="404",code="not_found"\}/,
  );
  expect(text).toMatch(/route="\/v1\/reaches",method="POST",status="404",code="ability_not_found"/);
  expect(text).not.toMatch(/wp-admin|PROPFIND|second-/);
});
