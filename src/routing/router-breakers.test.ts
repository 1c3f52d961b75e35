/** R28 as routing meets it: who passes a breaker, who is left when it refuses, and what is said about it. */
import fc from 'fast-check';
import { agent, instance, request, ScriptedBreakers, seededRandom, world } from '../../test/routing/fixtures';
import { LexicalMatcher } from '../embeddings';
import type { DescriptorDraft } from '../protocol/descriptor';
import { ReachError } from '../protocol/reach-error';
import type { AdmissionMark, BreakerGate } from '../protocol/reliability';
import type { Decision, InstanceState } from '../protocol/shapes';
import type { AgentVersion } from '../protocol/world';
import { DEFAULT_ROUTER_CONFIG, Router, type RouteRequest, type RouterConfig } from './index';

type Gates = Record<string, Partial<BreakerGate>>;

const OPEN = { share: 0, detail: 'open since 12:03:01 UTC: 14 of 20 calls failed', retryAfterMs: 4_200 };
const BYPASS = { share: 0.05, mark: 'bypass' as const, detail: 'bypass since 12:03:01 UTC', retryAfterMs: 1_000 };
const RECOVERING = { share: 0.25, mark: 'recovery' as const, detail: 'recovering', retryAfterMs: 1_000 };
const PROBE = { share: 1, mark: 'probe' as const, detail: 'open since 12:03:01 UTC', retryAfterMs: 0 };

const worker = (name: string, version = '1.0.0', instances?: InstanceState[], draft: Partial<DescriptorDraft> = {}) =>
  agent({ name, version, capabilities: [{ name: 'work', description: 'mends shoes' }], ...draft }, instances);
const work = (overrides: Partial<RouteRequest> = {}) =>
  request({ ability: 'work', payload: { text: 'x' }, ...overrides });
const asleep = (version = '1.0.0') => [instance({ version, status: 'draining' })];

function setUp(
  agents: AgentVersion[],
  gates: Gates,
  { random = () => 0, config = {} }: { random?: () => number; config?: Partial<RouterConfig> } = {},
) {
  const breakers = new ScriptedBreakers(gates);
  const view = world({ agents, breakers });
  const matcher = new LexicalMatcher();
  const router = new Router({ world: () => view, matcher, config: { ...DEFAULT_ROUTER_CONFIG, ...config }, random });
  return { router, breakers };
}

async function refusal(router: Router, asked: RouteRequest): Promise<ReachError> {
  const caught: unknown = await router.route(asked).catch((error: unknown) => error);
  if (!(caught instanceof ReachError))
    throw new Error('somebody was chosen, or it failed otherwise', { cause: caught });
  return caught;
}

test('the failures that tripped it do not keep a marked call away: beside an equal agent it would never be well again', async () => {
  const fine = { requests: 40, failures: 0, p50_ms: 100 };
  const stats = { 'a#1.0.0/work': { ...fine, failures: 30 }, 'b#1.0.0/work': fine };
  const choose = async (gates: Gates) => {
    const view = world({ agents: [worker('a'), worker('b')], breakers: new ScriptedBreakers(gates), stats });
    const router = new Router({
      world: () => view,
      matcher: new LexicalMatcher(),
      config: DEFAULT_ROUTER_CONFIG,
      random: () => 0,
    });
    return (await router.route(work())).chosen;
  };
  expect(await choose({ 'a#1.0.0/work': BYPASS })).toMatchObject({ agent_name: 'a', admission: 'bypass' });
  expect(await choose({ 'a#1.0.0/work': PROBE })).toMatchObject({ agent_name: 'a', admission: 'probe' });
  expect(await choose({})).toMatchObject({ agent_name: 'b' });
});

describe('who passes', () => {
  test('without breakers, and with closed ones, a decision is the same and marks nobody', async () => {
    const agents = [worker('a'), worker('b')];
    const newId = () => 'd';
    const now = () => new Date(0);
    const route = (breakers?: ScriptedBreakers) => {
      const view = world({ agents, breakers });
      const deps = {
        world: () => view,
        matcher: new LexicalMatcher(),
        config: DEFAULT_ROUTER_CONFIG,
        newId,
        now,
        random: () => 0,
      };
      return new Router(deps).route(work());
    };
    const decision = await route(new ScriptedBreakers({}));
    expect(decision).toEqual(await route());
    expect(decision.chosen).not.toHaveProperty('admission');
  });

  test.each<[AdmissionMark, Partial<BreakerGate>, string]>([
    ['bypass', BYPASS, 'passes its breaker as one of 5 % (bypass)'],
    ['recovery', RECOVERING, 'recovering, 25 % pass'],
    ['probe', PROBE, 'is the probe of an open breaker'],
  ])('%s: marked in the decision, and told', async (mark, gate, note) => {
    const { chosen, route_reason } = await setUp([worker('a')], { 'a#1.0.0/work': gate }).router.route(work());
    expect(chosen).toMatchObject({ agent_name: 'a', admission: mark });
    expect(route_reason).toBe(`a is the only agent that can take work, score 0.91; ${note}`);
  });

  test('a share without a mark passes unmarked', async () => {
    const { router } = setUp([worker('a')], { 'a#1.0.0/work': { share: 0.5 } });
    const { chosen, route_reason } = await router.route(work());
    expect(chosen).not.toHaveProperty('admission');
    expect(route_reason).toMatch(/; its breaker lets 50 % pass$/);
  });

  test('the mark is that of the chosen one, not of another candidate', async () => {
    const better = worker('a', '1.0.0', undefined, { capabilities: [{ name: 'work', description: 'mends x' }] });
    const { router } = setUp([better, worker('b')], { 'b#1.0.0/work': BYPASS });
    const { chosen, candidates, route_reason } = await router.route(work());
    expect(candidates).toHaveLength(2);
    expect(chosen).toEqual({ agent_name: 'a', agent_version: '1.0.0', ability: 'work', score: expect.any(Number) });
    expect(route_reason).not.toContain('breaker');
  });

  test('a breaker guards one ability of one version, not the agent', async () => {
    const { router } = setUp([worker('a')], { 'a#1.0.0/rest': OPEN, 'a#2.0.0/work': OPEN });
    expect((await router.route(work())).chosen.agent_name).toBe('a');
  });

  test('in bypass 5 % pass, the rest take the next best', async () => {
    const { router } = setUp([worker('a'), worker('b')], { 'a#1.0.0/work': BYPASS }, { random: seededRandom(7) });
    const chosen: Decision['chosen'][] = [];
    for (let i = 0; i < 10_000; i++) chosen.push((await router.route(work())).chosen);
    const passed = chosen.filter(({ agent_name }) => agent_name === 'a');
    // Binomial(10000, 0.05): mean 500, standard deviation 21.8; four of them either way.
    expect(passed.length).toBeGreaterThan(413);
    expect(passed.length).toBeLessThan(587);
    expect(chosen.every(({ agent_name, admission }) => (admission === 'bypass') === (agent_name === 'a'))).toBe(true);
  });

  test('of the refused one nothing is ever seen: with two agents the other takes it, whatever is drawn', async () => {
    const strategies = fc.constantFrom('score_based' as const, 'round_robin' as const, 'random' as const);
    const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('a', 'b'),
        strategies,
        fc.boolean(),
        draw,
        async (refused, strategy, any, drawn) => {
          const { router } = setUp(
            [worker('a'), worker('b')],
            { [`${refused}#1.0.0/work`]: OPEN },
            { random: () => drawn, config: { defaultStrategy: strategy } },
          );
          const asked = any ? work({ ability: '*', payload: { text: 'mends shoes' } }) : work();
          for (let turn = 0; turn < 2; turn++) {
            const decision = await router.route(asked);
            expect(decision.chosen.agent_name).toBe(refused === 'a' ? 'b' : 'a');
            expect(decision.candidates.map(({ agent_name }) => agent_name)).not.toContain(refused);
          }
        },
      ),
    );
  });

  test('a rule whose agent is held back gives way', async () => {
    const rules = [{ ability: 'work', agent: 'b' }];
    const { router } = setUp([worker('a'), worker('b')], { 'b#1.0.0/work': OPEN }, { config: { rules } });
    const { chosen, route_reason } = await router.route(work());
    expect(chosen.agent_name).toBe('a');
    expect(route_reason).toContain('rule 1 names b, which cannot take this');
  });

  test('each breaker is asked once a request, also among several versions and for *', async () => {
    const agents = [worker('a', '1.0.0'), worker('a', '2.0.0'), worker('b'), worker('c', '1.0.0', asleep())];
    for (const asked of [work(), work({ ability: '*', payload: { text: 'mends shoes' } })]) {
      const { router, breakers } = setUp(agents, { 'b#1.0.0/work': BYPASS });
      await router.route(asked);
      expect(breakers.asked.toSorted()).toEqual([...new Set(breakers.asked)].toSorted());
      expect(breakers.asked).not.toContain('c#1.0.0/work'); // not ready, so nobody asks
    }
  });
});

describe('versions', () => {
  const agents = [worker('a', '1.0.0'), worker('a', '2.0.0')];

  test('a version that is held back supersedes nobody', async () => {
    const { chosen, excluded } = await setUp(agents, { 'a#2.0.0/work': OPEN }).router.route(work());
    expect(chosen).toMatchObject({ agent_version: '1.0.0' });
    expect(chosen).not.toHaveProperty('admission');
    expect(excluded).toEqual([
      { agent_name: 'a', agent_version: '2.0.0', reason: `its breaker refuses: ${OPEN.detail}` },
    ]);
  });

  test('one draw decides between the versions', async () => {
    const draws = [0.05, 0.049];
    const { router } = setUp(agents, { 'a#2.0.0/work': BYPASS }, { random: () => draws.shift()! });
    const first = await router.route(work({ version: '>=1.0.0' }));
    expect(first.chosen.agent_version).toBe('1.0.0');
    expect(first.excluded[0]!.reason).toBe('its breaker lets 5 % pass, not this: bypass since 12:03:01 UTC');
    expect((await router.route(work({ version: '>=1.0.0' }))).chosen).toMatchObject({
      agent_version: '2.0.0',
      admission: 'bypass',
    });
    expect(draws).toEqual([]);
  });
});

describe('circuit_open', () => {
  const gates = { 'a#1.0.0/work': OPEN, 'b#1.0.0/work': BYPASS };
  const agents = [worker('a'), worker('b'), worker('c', '1.0.0', asleep())];

  test.each(['sync', 'async'] as const)(
    'all that are ready are held back: who, why, and when to come again (%s; async in degraded mode)',
    async (mode) => {
      const breakers = new ScriptedBreakers(gates);
      const degraded = { healthyShare: 0.25, threshold: 0.3, since: '2026-03-01T12:00:00.000Z' };
      const view = world({ agents, breakers, degraded: mode === 'async' ? degraded : null });
      const router = new Router({
        world: () => view,
        matcher: new LexicalMatcher(),
        config: DEFAULT_ROUTER_CONFIG,
        random: () => 0.5,
      });
      const { code, message, options } = await refusal(router, work({ mode }));
      expect(code).toBe('circuit_open');
      expect(options.retryAfterMs).toBe(1_000);
      const held = { cause: 'breaker_open', by: 'its breaker', since: expect.any(String), status: 'ready' };
      const version = { agent_version: '1.0.0' };
      expect(options.diagnosis).toEqual({
        reason: 'breaker_open',
        message,
        advice: expect.stringContaining('mend the agent'),
        retry_after_ms: 1_000,
        causes: [
          { cause: 'breaker_open', count: 2, message: '2 are held back by their breakers' },
          { cause: 'draining', count: 1, message: '1 is draining' },
        ],
        agents: [
          { agent_name: 'a', ...version, ...held, detail: OPEN.detail, retry_after_ms: OPEN.retryAfterMs },
          { agent_name: 'b', ...version, ...held, detail: BYPASS.detail, retry_after_ms: BYPASS.retryAfterMs },
          expect.objectContaining({ agent_name: 'c', cause: 'draining', by: 'the agent', status: 'draining' }),
        ],
      });
      expect(message).toBe(
        `circuit breakers hold back all that are ready for work: a 1.0.0: its breaker refuses: ${OPEN.detail}; ` +
          'b 1.0.0: its breaker lets 5 % pass, not this: bypass since 12:03:01 UTC; try again in 1000 ms; of the others 1 is draining',
      );
      expect(new ReachError(code, message, options).toProblem()).toMatchObject({ status: 503, degraded: true });
    },
  );

  test('for * as well, and for an agent by name', async () => {
    const { router } = setUp(agents, gates, { random: () => 0.5 });
    expect((await refusal(router, work({ ability: '*', payload: { text: 'mends shoes' } }))).code).toBe('circuit_open');
    expect((await refusal(router, work({ target_agent: 'a' }))).code).toBe('circuit_open');
    expect((await refusal(router, work({ target_agent: 'c' }))).code).toBe('no_ready_instance');
  });
});

describe('durable hand-over', () => {
  test('waits when breakers alone refuse, and says so', async () => {
    const { router, breakers } = setUp([worker('a')], { 'a#1.0.0/work': OPEN });
    const decision = await router.route(work({ mode: 'async' }));
    expect(decision.chosen).toEqual(expect.objectContaining({ agent_name: 'a' }));
    expect(decision.chosen).not.toHaveProperty('admission');
    expect(decision.route_reason).toMatch(
      /; its breaker refuses: open since 12:03:01 UTC: 14 of 20 calls failed, so it waits until it may pass$/,
    );
    expect(breakers.asked).toEqual(['a#1.0.0/work']);
    expect(router.stillGood(decision, work({ mode: 'async' }))).toBe(false);
  });

  test('waits for whoever is asleep as before, and takes whoever passes', async () => {
    const { router } = setUp([worker('a'), worker('b', '1.0.0', asleep())], { 'a#1.0.0/work': OPEN });
    const named = await router.route(work({ mode: 'async', target_agent: 'b' }));
    expect(named.route_reason).toMatch(/; not ready now \(draining since 12:03:01 UTC\), so it waits until it is$/);
    const { router: passing } = setUp([worker('a'), worker('b')], { 'a#1.0.0/work': OPEN });
    expect((await passing.route(work({ mode: 'async' }))).chosen.agent_name).toBe('b');
  });
});

describe('stillGood', () => {
  const standing = (gate: Partial<BreakerGate>, admission?: AdmissionMark) => {
    const { router } = setUp(
      [worker('a')],
      { 'a#1.0.0/work': gate },
      {
        random: () => {
          throw new Error('rolled');
        },
      },
    );
    const chosen = { agent_name: 'a', agent_version: '1.0.0', ability: 'work', ...(admission && { admission }) };
    return router.stillGood({ chosen }, work());
  };

  test('a marked decision was rolled already; an unmarked one needs a closed breaker', () => {
    expect(standing({})).toBe(true);
    expect(standing(BYPASS)).toBe(false);
    expect(standing(BYPASS, 'bypass')).toBe(true);
    expect(standing(RECOVERING, 'probe')).toBe(true);
    expect(standing(PROBE)).toBe(false);
    expect(standing(OPEN)).toBe(false);
    expect(standing(OPEN, 'bypass')).toBe(false);
    expect(standing({ ...OPEN, mark: 'probe' }, 'probe')).toBe(true);
  });

  test('a mark makes nobody ready', () => {
    const { router } = setUp([worker('a', '1.0.0', asleep())], { 'a#1.0.0/work': BYPASS });
    const chosen = { agent_name: 'a', agent_version: '1.0.0', ability: 'work', admission: 'bypass' as const };
    expect(router.stillGood({ chosen }, work())).toBe(false);
  });
});

describe('dry run', () => {
  test('rolls nothing: who might pass is a candidate, told with the share; who cannot is excluded', async () => {
    const random = jest.fn(() => 0.99);
    const gates = { 'a#1.0.0/work': BYPASS, 'b#1.0.0/work': OPEN, 'c#1.0.0/work': RECOVERING };
    const { router } = setUp([worker('a'), worker('b'), worker('c'), worker('d')], gates, { random });
    const explained = await router.explain(work());
    expect(explained.candidates.map(({ agent_name }) => agent_name)).toEqual(['a', 'c', 'd']);
    expect(explained.excluded).toEqual([
      { agent_name: 'b', agent_version: '1.0.0', reason: `its breaker refuses: ${OPEN.detail}` },
    ]);
    expect(explained.route_reason).toMatch(/; passes its breaker as one of 5 % \(bypass\); c recovering, 25 % pass$/);
    expect(random).not.toHaveBeenCalled();
    expect(await router.explain(work())).toEqual({ ...explained, decision_id: expect.any(String) });
  });

  test('that breakers refuse all is an answer', async () => {
    const { router } = setUp([worker('a')], { 'a#1.0.0/work': OPEN });
    expect(await router.explain(work())).toMatchObject({
      agent_name: null,
      code: 'circuit_open',
      diagnosis: { reason: 'breaker_open' },
      excluded_count: 1,
    });
  });
});
