import { agent, instance, request, seededRandom, world, type WorldParts } from '../../test/routing/fixtures';
import { LexicalMatcher } from '../embeddings';
import { ReachError } from '../protocol/reach-error';
import { routeTable, type RouteEntry } from '../protocol/route-table';
import { DEFAULT_ROUTER_CONFIG, Router, type RouterConfig, type RouteRequest } from './index';

const ready = (version: string) => [instance({ version })];
const asleep = (version: string) => [instance({ version, status: 'draining', status_reason: 'deploy' })];

function version(number: string, { instances = ready(number), name = 'a', minute = 0 } = {}) {
  const registered_at = `2026-03-01T12:0${minute}:00.000Z`;
  return { ...agent({ name, version: number, capabilities: ['work'] }, instances), registered_at };
}

const to = (target: string, weight: number, from = 'default'): RouteEntry => ({
  ability: 'work',
  from,
  to: target,
  weight,
});

function routerOf(
  { routes = [], ...parts }: WorldParts & { routes?: RouteEntry[] },
  config: Partial<RouterConfig> = {},
  seed = 1,
) {
  const seen = { ...world(parts), routes: routeTable(routes, { etag: '"1"' }) };
  return new Router({
    world: () => seen,
    matcher: new LexicalMatcher(),
    config: { ...DEFAULT_ROUTER_CONFIG, exploration: { rate: 0, band: 0 }, ...config },
    random: seededRandom(seed),
  });
}

const work = (overrides: Partial<RouteRequest> = {}) =>
  request({ ability: 'work', payload: { text: 'x' }, ...overrides });
const versionFor = async (router: Router, overrides: Partial<RouteRequest> = {}) =>
  (await router.route(work(overrides))).chosen.agent_version;
const refusal = async (router: Router, overrides: Partial<RouteRequest> = {}) =>
  router.route(work(overrides)).then(
    () => new ReachError('internal', 'was expected to be refused'),
    (caught: unknown) => ReachError.from(caught),
  );

const both = [version('1.0.0'), version('1.1.0', { minute: 1 })];

describe('a split', () => {
  const routes = [to('a#1.0.0', 3), to('a#1.1.0', 1), to('a#1.1.0', 1, 'beta')];

  test('is of the caller group, matched exactly', async () => {
    const router = routerOf({ agents: both, routes });
    for (let n = 0; n < 20; n += 1) expect(await versionFor(router, { group: 'beta' })).toBe('1.1.0');
    const chosen = await Promise.all(Array.from({ length: 400 }, () => versionFor(router)));
    const share = chosen.filter((one) => one === '1.1.0').length / chosen.length;
    expect(Math.abs(share - 0.25)).toBeLessThan(5 * Math.sqrt((0.25 * 0.75) / 400));
  });

  test('is sticky, on every gateway alike, and recorded so that it recomputes', async () => {
    const [one, two] = [
      routerOf({ agents: both, routes }, {}, 1),
      routerOf({ agents: both.toReversed(), routes }, {}, 2),
    ];
    const decisions = await Promise.all(
      Array.from({ length: 60 }, (_, n) => one.route(work({ sticky_key: `customer-${n}` }))),
    );
    expect(new Set(decisions.map(({ chosen }) => chosen.agent_version)).size).toBe(2);
    for (const [n, { chosen, versioning }] of decisions.entries()) {
      expect(await versionFor(two, { sticky_key: `customer-${n}` })).toBe(chosen.agent_version);
      expect(versioning).toMatchObject({ group: 'default', table_etag: '"1"', reason: 'listed' });
      expect(versioning).not.toHaveProperty('draw');
      expect(versioning!.key_hash).not.toContain('customer');
    }
  });

  test('says in the reason what the version gets', async () => {
    const { route_reason, versioning } = await routerOf({ agents: both, routes }).route(work({ group: 'beta' }));
    expect(route_reason).toMatch(/; version 1\.1\.0 by its route, 100 % of the group beta$/);
    expect(versioning).toEqual({
      group: 'beta',
      table_etag: '"1"',
      listed: [{ version: '1.1.0', weight: 1 }],
      candidates: [
        { version: '1.0.0', usable: true },
        { version: '1.1.0', usable: true },
      ],
      share: 1,
      reason: 'listed',
    });
  });

  test('does not move calls between agents: score picks the agent by the version that bears the most', async () => {
    const stats = {
      'a#1.1.0/work': { requests: 1000, failures: 900, p50_ms: 9_000 },
      'b#1.0.0/work': { requests: 1000, failures: 400, p50_ms: 9_000 },
    };
    const agents = [...both, version('1.0.0', { name: 'b' })];
    const router = routerOf({ agents, routes: [to('a#1.0.0', 99), to('a#1.1.0', 1)], stats });
    const chosen = await Promise.all(
      Array.from({ length: 600 }, async (_, n) => (await router.route(work({ sticky_key: String(n) }))).chosen),
    );
    expect(chosen.every(({ agent_name }) => agent_name === 'a')).toBe(true);
    expect(chosen.some(({ agent_version }) => agent_version === '1.1.0')).toBe(true);
  });
});

describe('weight 0', () => {
  const routes = [to('a#1.0.0', 1), to('a#1.1.0', 0)];

  test('means none, though it is the only one that is ready; the diagnosis says so', async () => {
    const agents = [version('1.0.0', { instances: asleep('1.0.0') }), both[1]!];
    const error = await refusal(routerOf({ agents, routes }));
    expect(error.message).toContain('weight 0');
    expect(error.options.diagnosis!.agents).toContainEqual(
      expect.objectContaining({ agent_version: '1.1.0', detail: expect.stringContaining('weight 0') }),
    );
    const waits = await routerOf({ agents, routes }).route(work({ mode: 'async' }));
    expect(waits.chosen.agent_version).toBe('1.0.0');
  });

  test('is no obstacle to who names the version, and one to who names a range', async () => {
    const router = routerOf({ agents: both, routes });
    expect(await versionFor(router, { target_agent: 'a#1.1.0' })).toBe('1.1.0');
    expect((await refusal(router, { version: '=1.1.0' })).message).toContain('weight 0');
    expect(await versionFor(router, { target_agent: 'a' })).toBe('1.0.0');
  });

  test('takes a decision back that another process made before', async () => {
    const decision = await routerOf({ agents: both, routes: [to('a#1.1.0', 1)] }).route(work());
    expect(decision.chosen.agent_version).toBe('1.1.0');
    expect(routerOf({ agents: both, routes }).stillGood(decision, work())).toBe(false);
  });
});

describe('a dead version', () => {
  test('falls back to the others, and the reason says for whom and why', async () => {
    const agents = [both[0]!, version('1.1.0', { minute: 1, instances: asleep('1.1.0') })];
    const { chosen, route_reason, versioning } = await routerOf({
      agents,
      routes: [to('a#1.1.0', 1), to('a#1.0.0', 0, 'other')],
    }).route(work());
    expect(chosen.agent_version).toBe('1.0.0');
    expect(route_reason).toMatch(
      /version 1\.0\.0 stands in for 1\.1\.0, which cannot take it: draining since .*: deploy$/,
    );
    expect(versioning).toMatchObject({ reason: 'fallback', instead_of: '1.1.0' });
  });

  test('that was tried already gives way as well', async () => {
    const router = routerOf({ agents: both, routes: [to('a#1.0.0', 1), to('a#1.1.0', 1)] });
    expect(await versionFor(router, { exclude: ['a#1.1.0'], sticky_key: 'k' })).toBe('1.0.0');
    expect(await versionFor(router, { exclude: ['a#1.0.0'], sticky_key: 'k' })).toBe('1.1.0');
  });
});

test('a version that nobody routes to gets 1 % beside the one known longest, whatever its number', async () => {
  const agents = [version('2.0.0'), version('1.0.1', { minute: 1 })];
  const router = routerOf({ agents });
  const chosen = await Promise.all(Array.from({ length: 1_500 }, () => versionFor(router)));
  const newer = chosen.filter((one) => one === '1.0.1').length;
  expect(newer).toBeGreaterThan(0);
  expect(Math.abs(newer - 15)).toBeLessThan(5 * Math.sqrt(15));
  expect((await router.route(work({ exclude: ['a#2.0.0'] }))).versioning).toMatchObject({ reason: 'fallback' });
});

test('a pre-release takes what a route gives it, and nothing without one', async () => {
  const agents = [both[0]!, version('1.1.0-rc.1', { minute: 1 })];
  const none = await Promise.all(Array.from({ length: 100 }, () => versionFor(routerOf({ agents }))));
  expect(new Set(none)).toEqual(new Set(['1.0.0']));
  expect(await versionFor(routerOf({ agents, routes: [to('a#1.1.0-rc.1', 1)] }))).toBe('1.1.0-rc.1');
});

test('a range filters first; what routes list of it is split, else the highest takes it', async () => {
  const agents = [...both, version('2.0.0', { minute: 2 })];
  const router = routerOf({ agents, routes: [to('a#1.0.0', 1), to('a#2.0.0', 1)] });
  expect(await versionFor(router, { version: '^1.0.0' })).toBe('1.0.0');
  expect(await versionFor(router, { version: '1.1.x' })).toBe('1.1.0');
  expect(await versionFor(routerOf({ agents }), { version: '^1.0.0' })).toBe('1.1.0');
});

test('a rule that names a version has the last word, but not over weight 0', async () => {
  const rules = [{ group: 'vip', agent: 'a#1.1.0' }];
  const vip = { group: 'vip' };
  const { chosen, strategy } = await routerOf({ agents: both }, { rules }).route(work(vip));
  expect([chosen.agent_version, strategy]).toEqual(['1.1.0', 'rule']);
  const routes = [to('a#1.0.0', 1, 'vip'), to('a#1.1.0', 0, 'vip')];
  const barred = await routerOf({ agents: both, routes }, { rules }).route(work(vip));
  expect([barred.chosen.agent_version, barred.strategy]).toEqual(['1.0.0', 'score_based']);
});
