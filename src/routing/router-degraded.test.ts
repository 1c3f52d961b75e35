/** R24: too few agents are healthy, so nothing waits for health. */
import { agent, instance, request, ScriptedBreakers, world } from '../../test/routing/fixtures';
import { LexicalMatcher } from '../embeddings';
import { ReachError } from '../protocol/reach-error';
import type { InstanceState } from '../protocol/shapes';
import type { AgentVersion } from '../protocol/world';
import { DEFAULT_ROUTER_CONFIG, Router, type RouteRequest, type RouterConfig } from './index';

const DEGRADED = { healthyShare: 0.25, threshold: 0.3, since: '2026-03-01T12:00:00.000Z' };
const NOTE = 'degraded mode: 25 % of the agents are healthy (threshold 30 %)';

const describeAs = (name: string, description: string, instances?: InstanceState[]) =>
  agent({ name, version: '1.0.0', capabilities: [{ name: 'work', description }] }, instances);
const state = (overrides: Partial<InstanceState>) => [instance(overrides)];

function routerOf(agents: AgentVersion[], config: Partial<RouterConfig> = {}, breakers?: ScriptedBreakers): Router {
  const view = world({ agents, breakers, degraded: DEGRADED });
  return new Router({
    world: () => view,
    matcher: new LexicalMatcher(),
    config: { ...DEFAULT_ROUTER_CONFIG, ...config },
    now: () => new Date('2026-03-01T12:00:00Z'),
  });
}

const work = (overrides: Partial<RouteRequest> = {}) =>
  request({ ability: 'work', payload: { text: 'bakes bread' }, ...overrides });

async function refusal(router: Router, asked: RouteRequest): Promise<ReachError> {
  const caught: unknown = await router.route(asked).catch((error: unknown) => error);
  if (!(caught instanceof ReachError))
    throw new Error('somebody was chosen, or it failed otherwise', { cause: caught });
  return caught;
}

describe('who is ready', () => {
  const agents = [
    describeAs('cobbler', 'mends torn shoes'),
    describeAs('baker', 'bakes bread and cakes'),
    describeAs('tailor', 'sews coats', state({ status: 'unavailable' })),
  ];

  test('takes it by the fallback strategy, and the reason says why', async () => {
    const router = routerOf(agents);
    const decisions = [await router.route(work()), await router.route(work()), await router.route(work())];
    expect(decisions.map(({ chosen }) => chosen.agent_name)).toEqual(['baker', 'cobbler', 'baker']);
    expect(decisions[0]).toMatchObject({
      strategy: 'round_robin',
      route_reason: `baker is next in turn of 2 for work; ${NOTE}`,
    });
    const random = await routerOf(agents, { fallbackStrategy: 'random' }).route(work());
    expect(random.strategy).toBe('random');
  });

  test('rules and names hold as before', async () => {
    const byRule = await routerOf(agents, { rules: [{ ability: 'work', agent: 'cobbler' }] }).route(work());
    expect(byRule).toMatchObject({ strategy: 'rule', chosen: { agent_name: 'cobbler' } });
    const named = await routerOf(agents).route(work({ target_agent: 'cobbler' }));
    expect(named).toMatchObject({ strategy: 'direct', chosen: { agent_name: 'cobbler' } });
    expect(named.route_reason).toBe(`cobbler was named by the caller and takes work; ${NOTE}`);
  });

  test('* goes by meaning, among those who are ready', async () => {
    const open = (text: string) => work({ ability: '*', payload: { text }, mode: 'async' });
    const decision = await routerOf(agents).route(open('bakes bread and cakes'));
    expect(decision).toMatchObject({ strategy: 'score_based', chosen: { agent_name: 'baker' } });
    expect(decision.route_reason).toContain(NOTE);
    expect((await refusal(routerOf(agents), open('walks dogs'))).code).toBe('ability_not_found');
    expect((await refusal(routerOf(agents.slice(2)), open('sews coats'))).code).toBe('degraded_mode');
  });

  test('without degraded mode the score decides', async () => {
    const view = world({ agents, degraded: null });
    const router = new Router({ world: () => view, matcher: new LexicalMatcher(), config: DEFAULT_ROUTER_CONFIG });
    const decision = await router.route(work());
    expect(decision).toMatchObject({ strategy: 'score_based', chosen: { agent_name: 'baker' } });
    expect(decision.route_reason).not.toContain('degraded');
  });
});

describe('the excess fails fast', () => {
  test.each([
    ['sync', { status: 'draining' }, 3_000],
    ['async', { status: 'draining' }, 3_000],
    ['async', { status: 'busy' }, 1_000],
    ['sync', { status: 'unavailable', health: 'failing' }, 3_000],
    ['async', { status: 'unavailable', ejected_until: '2026-03-01T12:00:20Z' }, 20_000],
  ] as const)('%s, %j', async (mode, status, retryAfterMs) => {
    const { code, message, options } = await refusal(routerOf([describeAs('a', 'x', state(status))]), work({ mode }));
    expect(code).toBe('degraded_mode');
    expect(options.retryAfterMs).toBe(retryAfterMs);
    expect(message).toContain(`${NOTE}; no agent is ready for work: a 1.0.0: ${status.status} since 12:03:01 UTC`);
    expect(options.diagnosis).toMatchObject({
      reason: 'degraded_mode',
      retry_after_ms: retryAfterMs,
      agents: [{ agent_name: 'a', status: status.status }],
    });
    expect(new ReachError(code, message, options).toProblem()).toMatchObject({
      status: 503,
      degraded: true,
      retryable: true,
    });
  });

  test('never heard of is told as such', async () => {
    const { code, options } = await refusal(routerOf([describeAs('a', 'x', [])]), work({ mode: 'async' }));
    expect(code).toBe('degraded_mode');
    expect(options.diagnosis).toMatchObject({
      reason: 'degraded_mode',
      causes: [{ cause: 'never_registered', count: 1 }],
    });
  });

  test('instances that only fail their health check are not called after all', async () => {
    const failing = state({ status: 'unavailable', health: 'failing' });
    const { candidates, code } = await routerOf([describeAs('a', 'x', failing)]).explain(work());
    expect(candidates).toEqual([]);
    expect(code).toBe('degraded_mode');
  });

  test('what is not about health keeps its code', async () => {
    const router = routerOf([describeAs('a', 'x')]);
    expect((await refusal(router, work({ ability: 'wrok' }))).code).toBe('ability_not_found');
    expect((await refusal(router, work({ version: '^2.0.0' }))).code).toBe('version_not_found');
    expect((await refusal(router, work({ exclude: ['a#1.0.0'] }))).code).toBe('no_ready_instance');
    const open = new ScriptedBreakers({ 'a#1.0.0/work': { share: 0, detail: 'open', retryAfterMs: 5_000 } });
    const held = routerOf([describeAs('a', 'x'), describeAs('b', 'y', [])], {}, open);
    expect((await refusal(held, work({ mode: 'async' }))).code).toBe('circuit_open');
  });
});
