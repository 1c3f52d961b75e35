import fc from 'fast-check';
import { agent, instance, request, WordEmbedder, world, type WorldParts } from '../../test/routing/fixtures';
import { LexicalMatcher } from '../embeddings';
import type { World } from '../protocol/world';
import { DEFAULT_ROUTER_CONFIG, Router, SemanticMatcher, type RouterConfig } from './index';

const describeAs = (name: string, description: string, extra: object = {}) =>
  agent({ name, version: '1.0.0', capabilities: [{ name: 'work', description }], ...extra });

function setUp(parts: WorldParts, config: Partial<RouterConfig> = {}, random = () => 0) {
  const embedder = new WordEmbedder();
  const state: { world: World } = { world: world(parts) };
  const router = new Router({
    world: () => state.world,
    matcher: new SemanticMatcher({ embedder, fallback: new LexicalMatcher(), patienceMs: 60_000 }),
    config: { ...DEFAULT_ROUTER_CONFIG, ...config },
    random,
    now: () => new Date('2026-03-01T12:00:00Z'),
    newId: () => 'd-1',
  });
  return { router, embedder, state };
}

const work = (text: string, overrides = {}) => request({ ability: 'work', payload: { text }, ...overrides });

describe('one candidate', () => {
  test('needs no embedding, and is certain', async () => {
    const { router, embedder } = setUp({ agents: [describeAs('solo', 'mends shoes')] });
    const decision = await router.route(work('my shoe is torn'));
    expect(embedder.asked).toEqual([]);
    expect(decision).toMatchObject({
      decision_id: 'd-1',
      at: '2026-03-01T12:00:00.000Z',
      ability: 'work',
      group: 'default',
      strategy: 'score_based',
      chosen: { agent_name: 'solo', agent_version: '1.0.0', ability: 'work' },
      confidence: 1,
      explored: false,
      excluded: [],
      excluded_count: 0,
    });
    expect(decision.candidates).toEqual([
      expect.objectContaining({ cosine: null, instances: [{ instance_id: 'i-1', weight: expect.any(Number) }] }),
    ]);
    expect(decision.route_reason).toBe('solo is the only agent that can take work, score 0.91');
  });

  test('identical descriptions need none either: there is nothing to tell apart', async () => {
    const { router, embedder } = setUp({ agents: [describeAs('b', 'mends shoes'), describeAs('a', 'mends shoes')] });
    const decision = await router.route(work('my shoe is torn'));
    expect(embedder.asked).toEqual([]);
    expect(decision.chosen.agent_name).toBe('a');
    expect(decision.confidence).toBe(0);
    expect(decision.route_reason).toMatch(/a tie, settled by lot where that may be, else by name$/);
  });
});

describe('by meaning', () => {
  const agents = [
    describeAs('cobbler', 'mends torn shoes and boots'),
    describeAs('tailor', 'sews trousers and coats'),
    describeAs('baker', 'bakes bread and cakes'),
  ];

  test('the same ability of several agents is told apart by their own words', async () => {
    const { router } = setUp({ agents });
    expect((await router.route(work('please mend my torn boots'))).chosen.agent_name).toBe('cobbler');
    expect((await router.route(work('sews coats'))).chosen.agent_name).toBe('tailor');
    const decision = await router.route(work('bread and cakes'));
    expect(decision.chosen.agent_name).toBe('baker');
    expect(decision.confidence).toBeGreaterThan(0.5);
    expect(decision.route_reason).toMatch(
      /^baker takes work with score 0\.\d\d, ahead of \w+ 0\.\d\d: nearer in meaning \(1\.00 against 0\.\d\d\)$/,
    );
  });

  test('all parts recompute to the total', async () => {
    const { router } = setUp({ agents, stats: { 'tailor#1.0.0/work': { requests: 9, failures: 3, p50_ms: 700 } } });
    const { weights, candidates } = await router.explain(work('bread'));
    for (const { score, factors } of candidates) {
      const total =
        weights.semantic_similarity * factors.semantic_similarity +
        weights.latency_score * factors.latency_score +
        weights.reliability_score * factors.reliability_score;
      expect(score).toBeCloseTo(total, 5);
    }
    expect(candidates.map(({ score }) => score)).toEqual(candidates.map(({ score }) => score).sort((a, b) => b - a));
  });

  test('the order in which the registry lists agents does not matter', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(agents, { minLength: 3 }),
        fc.constantFrom('bread', 'coats', 'nothing known'),
        async (listed, text) => {
          const inOrder = await setUp({ agents }).router.route(work(text));
          const shuffled = await setUp({ agents: listed }).router.route(work(text));
          expect(shuffled).toEqual(inOrder);
        },
      ),
      { numRuns: 20 },
    );
  });

  test('an edited description has a new vector', async () => {
    const { router, state } = setUp({ agents });
    expect((await router.route(work('fish'))).chosen.agent_name).not.toBe('zoo');
    state.world = world({ agents: [...agents, describeAs('zoo', 'elephants')], revision: '2' });
    const before = (await router.route(work('fish fish fish'))).candidates.find((c) => c.agent_name === 'zoo')!;
    state.world = world({ agents: [...agents, describeAs('zoo', 'fish')], revision: '3' });
    const after = await router.route(work('fish fish fish'));
    expect(after.chosen.agent_name).toBe('zoo');
    expect(after.candidates[0]!.cosine).toBeGreaterThan(before.cosine!);
  });

  test('when vectors cannot be had, words decide and the reason says so', async () => {
    const { router, embedder } = setUp({ agents });
    embedder.embed = () => Promise.reject(new Error('down'));
    const { chosen, route_reason } = await router.route(work('torn boots'));
    expect(chosen.agent_name).toBe('cobbler');
    expect(route_reason).toMatch(/; lexical fallback, embeddings unavailable$/);
  });

  test('a payload without text compares nothing; measurements decide', async () => {
    const { router, embedder } = setUp({
      agents,
      stats: { 'tailor#1.0.0/work': { requests: 50, failures: 0, p50_ms: 1 } },
    });
    const { candidates, chosen } = await router.route(request({ ability: 'work', payload: { n: 1 } }));
    expect(chosen.agent_name).toBe('tailor');
    expect(candidates.every(({ cosine, factors }) => cosine === null && factors.semantic_similarity === 1)).toBe(true);
    expect(embedder.asked).toEqual([]);
  });
});

describe('measurements (E02)', () => {
  const same = ['a', 'b', 'c'].map((name) => describeAs(name, 'the same words'));
  const stats = {
    'a#1.0.0/work': { requests: 1000, failures: 10, p50_ms: 50 },
    'c#1.0.0/work': { requests: 2, failures: 0, p50_ms: 0 },
  };

  test('two calls do not outrank a thousand, and a newcomer is near enough to be tried', async () => {
    const { candidates } = await setUp({ agents: same, stats }).router.route(work('x'));
    expect(candidates.map(({ agent_name }) => agent_name)).toEqual(['a', 'c', 'b']);
    expect(candidates[0]!.score - candidates[2]!.score).toBeLessThan(0.05);
    for (const { score, factors } of candidates)
      for (const value of [score, ...Object.values(factors)]) expect(value).toBeLessThanOrEqual(1);
  });

  test('with all weight on similarity, equals tie by name', async () => {
    const weights = { semantic_similarity: 1, latency_score: 0, reliability_score: 0 };
    const { candidates } = await setUp({ agents: same, stats }, { weights }).router.route(work('x'));
    expect(candidates.map(({ agent_name }) => agent_name)).toEqual(['a', 'b', 'c']);
  });

  test('weights of 0 or below are refused when the router is made', () => {
    const none = { semantic_similarity: 0, latency_score: 0, reliability_score: 0 };
    expect(() => setUp({ agents: same }, { weights: none })).toThrow(
      expect.objectContaining({ code: 'weights_invalid' }),
    );
    const instanceWeights = { load: -1, latency: 1, reliability: 1 };
    expect(() => setUp({ agents: same }, { instanceWeights })).toThrow(/router.instance_weights.load/);
  });

  test('more candidates than are recorded: the best ten are, and it is the best that wins', async () => {
    const agents = Array.from({ length: 30 }, (_, i) => describeAs(`a${String(i).padStart(2, '0')}`, 'same'));
    const slow = Object.fromEntries(
      agents.map(({ name }, i) => [`${name}#1.0.0/work`, { requests: 9, p50_ms: 3000 - i * 100 }]),
    );
    const { candidates, chosen } = await setUp({ agents, stats: slow }).router.route(work('x'));
    expect(chosen.agent_name).toBe('a29');
    expect(candidates.map(({ agent_name }) => agent_name)).toEqual(
      agents
        .map(({ name }) => name)
        .reverse()
        .slice(0, 10),
    );
  });
});

describe('other strategies (R19)', () => {
  const agents = ['a', 'b', 'c'].map((name) => describeAs(name, `words of ${name}`));
  const names = async (router: Router, times: number) => {
    const chosen: string[] = [];
    for (let i = 0; i < times; i++) chosen.push((await router.route(work('x'))).chosen.agent_name);
    return chosen;
  };

  test('round robin takes turns; a dry run uses up none', async () => {
    const { router, embedder } = setUp({ agents }, { defaultStrategy: 'round_robin' });
    expect(await names(router, 4)).toEqual(['a', 'b', 'c', 'a']);
    expect((await router.explain(work('x'))).agent_name).toBe('b');
    expect((await router.explain(work('x'))).agent_name).toBe('b');
    expect(await names(router, 1)).toEqual(['b']);
    expect(embedder.asked).toEqual([]);
  });

  test('random draws evenly', async () => {
    const draws = [0, 0.34, 0.67, 0.999];
    const { router } = setUp({ agents }, { defaultStrategy: 'random' }, () => draws.shift()!);
    expect(await names(router, 4)).toEqual(['a', 'b', 'c', 'c']);
  });

  test('the fallback strategy stands in when nothing can be compared at all', async () => {
    const view = world({ agents });
    const matcher = { prepare: async () => {}, similarities: () => Promise.reject(new Error('broken')) };
    const router = new Router({ world: () => view, matcher, config: DEFAULT_ROUTER_CONFIG });
    const decision = await router.route(work('x'));
    expect(decision).toMatchObject({ strategy: 'round_robin', chosen: { agent_name: 'a' } });
    expect((await router.route(work('x'))).chosen.agent_name).toBe('b');
  });

  test.each([
    ['ability', { ability: 'work' }, {}],
    ['group', { group: 'vip' }, { group: 'vip' }],
    ['metadata', { metadata: { region: 'eu' } }, { metadata: { region: 'eu' } }],
    [
      'payload pointer',
      { payload: { pointer: '/order/kind', equals: 'gift' } },
      { payload: { order: { kind: 'gift' } } },
    ],
  ])('a rule on %s comes before scoring', async (_what, condition, matching) => {
    const { router, embedder } = setUp({ agents }, { rules: [{ ...condition, agent: 'c' }] });
    const decision = await router.route(work('x', matching));
    expect(decision).toMatchObject({ strategy: 'rule', confidence: 1, chosen: { agent_name: 'c' } });
    expect(decision.route_reason).toBe('c takes work by an explicit rule');
    expect(embedder.asked).toEqual([]);
  });

  test('a rule that does not hold, or whose agent cannot take it, leaves it to the score', async () => {
    const rules = [
      { group: 'vip', agent: 'c' },
      { ability: 'work', agent: 'c#2.0.0' },
      { metadata: { toString: 'x' }, agent: 'c' },
    ];
    const { router } = setUp({ agents }, { rules });
    const decision = await router.route(work('words of b'));
    expect(decision).toMatchObject({ strategy: 'score_based', chosen: { agent_name: 'b' } });
    expect(decision.route_reason).toMatch(/; rule 2 names c, which cannot take this$/);
  });
});

describe('versions (E03)', () => {
  const versions = ['1.9.0', '1.10.0', '1.10.0-rc.1', '1.11.0-beta.1', '2.0.0-rc.1'];
  const agents = versions.map((version) => agent({ name: 'a', version, capabilities: ['work'] }));
  const chosenFor = async (overrides: object) =>
    (await setUp({ agents }).router.route(work('x', overrides))).chosen.agent_version;

  test.each([
    ['^1.2.0', '1.10.0'],
    ['>=1.2.0 <2.0.0', '1.10.0'],
    ['1.x', '1.10.0'],
    ['latest', '1.10.0'],
    ['=1.10.0', '1.10.0'],
    ['v1.9.0', '1.9.0'],
    ['^1.11.0-beta', '1.11.0-beta.1'],
  ])('%s → %s', async (version, expected) => {
    expect(await chosenFor({ version })).toBe(expected);
  });

  test('an exact version by name, also a pre-release', async () => {
    expect(await chosenFor({ target_agent: 'a#2.0.0-rc.1' })).toBe('2.0.0-rc.1');
    expect(await chosenFor({ target_agent: 'a#v1.9.0' })).toBe('1.9.0');
  });

  test('the highest version in a range wins within an agent, however well a lower one does', async () => {
    const stats = {
      'a#1.9.0/work': { requests: 1000, failures: 0, p50_ms: 1 },
      'a#1.10.0/work': { requests: 1000, failures: 900, p50_ms: 9000 },
    };
    const decision = await setUp({ agents, stats }).router.route(work('x', { version: '^1.2.0' }));
    expect(decision.chosen.agent_version).toBe('1.10.0');
    expect(decision.excluded).toContainEqual({
      agent_name: 'a',
      agent_version: '1.9.0',
      reason: 'another version of the same agent takes this',
    });
  });

  test('a lower version serves while the highest is not ready, and was not superseded then', async () => {
    const low = agent({ name: 'a', version: '1.0.0', capabilities: ['work'] });
    const high = agent({ name: 'a', version: '2.0.0', capabilities: ['work'] }, [
      instance({ status: 'draining', status_reason: 'deploy' }),
    ]);
    const decision = await setUp({ agents: [low, high] }).router.route(work('x'));
    expect(decision.chosen.agent_version).toBe('1.0.0');
    expect(decision.excluded).toEqual([
      { agent_name: 'a', agent_version: '2.0.0', reason: 'draining since 12:03:01 UTC: deploy' },
    ]);
  });

  test('an older range that a version also serves is enough', async () => {
    const served = agent({ name: 'a', version: '3.0.0', compatible_versions: ['^1.0.0'], capabilities: ['work'] });
    const decision = await setUp({ agents: [served] }).router.route(work('x', { version: '^1.4.0' }));
    expect(decision.chosen.agent_version).toBe('3.0.0');
  });
});

describe('stillGood', () => {
  const good = describeAs('a', 'x');

  test('stands while the version is registered, ready and fits; not otherwise', async () => {
    const { router, state } = setUp({ agents: [good, describeAs('b', 'y')] });
    const decision = await router.route(work('x'));
    expect(router.stillGood(decision, work('x'))).toBe(true);
    expect(router.stillGood(decision, work('x', { exclude: ['a#1.0.0'] }))).toBe(false);
    expect(router.stillGood(decision, work('x', { type: 'other' }))).toBe(false);
    state.world = world({ agents: [{ ...good, instances: [instance({ in_flight: 4 })] }], revision: '2' });
    expect(router.stillGood(decision, work('x'))).toBe(false);
    state.world = world({ agents: [], revision: '3' });
    expect(router.stillGood(decision, work('x'))).toBe(false);
  });
});

describe('searchAbilities', () => {
  test('finds by meaning, the best version of each once, and refuses a blank query', async () => {
    const agents = [
      agent({
        name: 'w',
        version: '1.0.0',
        capabilities: [{ name: 'weather', description: 'rain and sunshine tomorrow' }],
      }),
      agent({
        name: 'w',
        version: '1.1.0',
        capabilities: [{ name: 'weather', description: 'rain and sunshine tomorrow' }],
      }),
      agent({ name: 's', version: '1.0.0', capabilities: [{ name: 'sums', description: 'adds numbers' }] }),
    ];
    const { router } = setUp({ agents });
    const hits = await router.searchAbilities('rain tomorrow', 5);
    expect(hits.map(({ agent_name, agent_version }) => `${agent_name}#${agent_version}`)).toEqual([
      'w#1.1.0',
      's#1.0.0',
    ]);
    expect(hits[0]!.score).toBeGreaterThan(0.5);
    expect(hits[0]!.confidence).toBeGreaterThan(hits[1]!.confidence);
    expect(await router.searchAbilities('rain', 1)).toHaveLength(1);
    await expect(router.searchAbilities(' \n')).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await setUp({ agents: [] }).router.searchAbilities('rain')).toEqual([]);
  });
});
