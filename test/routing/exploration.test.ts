/** R17 and E02 at the router: who is tried instead of the winner, who never is, and that a score explains itself. */
import { LexicalMatcher } from '../../src/embeddings';
import { DEFAULT_ROUTER_CONFIG, Router, type RouteRequest, type RouterConfig } from '../../src/routing';
import type { AbilityStats } from '../../src/protocol/world';
import { agent, instance, request, ScriptedBreakers, seededRandom, world, type WorldParts } from './fixtures';

const offering = (name: string, description = 'mends shoes', version = '1.0.0') =>
  agent({ name, version, capabilities: [{ name: 'work', description }] });
const work = (overrides: Partial<RouteRequest> = {}) =>
  request({ ability: 'work', payload: { text: 'x' }, ...overrides });
const record = (p50_ms: number): Partial<AbilityStats> => ({ requests: 100, failures: 1, p50_ms });
/** b is 0.02 behind a, c 0.09 behind a. */
const STATS = {
  'a#1.0.0/work': record(100),
  'b#1.0.0/work': record(240),
  'c#1.0.0/work': record(1_150),
};
const agents = [offering('a'), offering('b'), offering('c')];
const ALWAYS: Partial<RouterConfig> = { exploration: { rate: 1, band: 0.05 } };

function routerOf(parts: Partial<WorldParts>, config: Partial<RouterConfig> = {}, random = seededRandom(3)): Router {
  const view = world({ agents, stats: STATS, ...parts });
  return new Router({
    world: () => view,
    matcher: new LexicalMatcher(),
    config: { ...DEFAULT_ROUTER_CONFIG, ...config },
    random,
  });
}

async function tally(router: Router, asked = work(), times = 2_000): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let i = 0; i < times; i++) {
    const { agent_name } = (await router.route(asked)).chosen;
    counts[agent_name] = (counts[agent_name] ?? 0) + 1;
  }
  return counts;
}

describe('exploration (R17)', () => {
  test('one in ten goes to whoever is within 0.05 of the winner, nobody else', async () => {
    const counts = await tally(routerOf({}));
    expect(Object.keys(counts).sort()).toEqual(['a', 'b']);
    // Binomial(2000, 0.1): mean 200, standard deviation 13.4; four of them either way.
    expect(Math.abs(counts.b! - 200)).toBeLessThan(54);
  });

  test('is told: explored, the draw that decided, among how many, and why', async () => {
    const decision = await routerOf({}, {}, () => 0.95).route(work());
    expect(decision).toMatchObject({
      strategy: 'score_based',
      chosen: { agent_name: 'b' },
      explored: true,
      exploration: { draw: 0.95, among: 1 },
    });
    expect(decision.candidates[0]).toMatchObject({ agent_name: 'a' });
    expect(decision.route_reason).toMatch(
      /^b is tried for work \(exploration\) with score 0\.\d\d, drawn instead of a 0\.\d\d/,
    );
    const plain = await routerOf({}, {}, () => 0.5).route(work());
    expect(plain).toMatchObject({ chosen: { agent_name: 'a' }, explored: false, exploration: { draw: 0.5, among: 1 } });
    expect(plain.confidence).toBe(decision.confidence);
  });

  test('the one that was tried is recorded, wherever it ranks', async () => {
    const many = Array.from({ length: 40 }, (_, i) => offering(`a${String(i).padStart(2, '0')}`));
    const { chosen, candidates, exploration } = await routerOf({ agents: many, stats: {} }, ALWAYS, () => 0.9999).route(
      work(),
    );
    expect(exploration).toMatchObject({ among: 39 });
    expect(candidates).toHaveLength(10);
    expect(candidates.map(({ agent_name }) => agent_name)).toContain(chosen.agent_name);
  });

  test.each<[string, Partial<RouteRequest>, Partial<WorldParts>]>([
    ['the next best after a failure', { exclude: ['c#1.0.0'] }, {}],
    ['an agent that was named', { target_agent: 'a' }, {}],
    ['in degraded mode', {}, { degraded: { healthyShare: 0.1, threshold: 0.3, since: '2026-03-01T12:00:00Z' } }],
  ])('never: %s', async (_what, asked, parts) => {
    const router = routerOf(parts, { ...ALWAYS, fallbackStrategy: 'score_based' });
    expect(await tally(router, work(asked), 50)).toEqual({ a: 50 });
  });

  test('never in a dry run, nor for what waits until somebody is ready', async () => {
    const { agent_name, explored } = await routerOf({}, ALWAYS).explain(work());
    expect({ agent_name, explored }).toEqual({ agent_name: 'a', explored: false });
    const asleep = agents.map((one) => ({ ...one, instances: [instance({ status: 'draining' })] }));
    expect(await tally(routerOf({ agents: asleep }, ALWAYS), work({ mode: 'async' }), 50)).toEqual({ a: 50 });
  });

  test('never who is not admitted: a breaker that refuses, or that is not ready', async () => {
    const breakers = new ScriptedBreakers({ 'b#1.0.0/work': { share: 0, detail: 'open', retryAfterMs: 1 } });
    expect(await tally(routerOf({ breakers }, ALWAYS), work(), 50)).toEqual({ a: 50 });
    const busy = [agents[0]!, { ...agents[1]!, instances: [instance({ status: 'busy' })] }];
    expect(await tally(routerOf({ agents: busy }, ALWAYS), work(), 50)).toEqual({ a: 50 });
  });

  test('never another ability of an open request, however near: what is meant is no matter of chance', async () => {
    const alike = [
      agent({ name: 'a', version: '1.0.0', capabilities: [{ name: 'mend', description: 'mends torn shoes' }] }),
      agent({ name: 'b', version: '1.0.0', capabilities: [{ name: 'sew', description: 'mends torn boots' }] }),
      agent({ name: 'c', version: '1.0.0', capabilities: [{ name: 'mend', description: 'mends torn shoes' }] }),
    ];
    const router = routerOf({ agents: alike, stats: {} }, { exploration: { rate: 0.5, band: 1 } });
    const counts = await tally(router, work({ ability: '*', payload: { text: 'mends torn shoes' } }), 100);
    expect(Object.keys(counts).sort()).toEqual(['a', 'c']);
  });
});

describe('score of the unknown (E02)', () => {
  const known = {
    'a#1.0.0/work': { requests: 1_000, failures: 10, p50_ms: 50 },
    'c#1.0.0/work': { requests: 2, failures: 0, p50_ms: 0 },
  };

  test('every part is there and recomputes to the total; two calls do not outrank a thousand', async () => {
    const { candidates, weights } = await routerOf({ stats: known }).explain(work());
    expect(candidates.map(({ agent_name }) => agent_name)).toEqual(['a', 'c', 'b']);
    for (const { score, factors } of candidates) {
      const parts = Object.entries(factors) as [keyof typeof weights, number][];
      expect(parts).toHaveLength(3);
      expect(parts.every(([, value]) => Number.isFinite(value) && value >= 0 && value <= 1)).toBe(true);
      expect(score).toBeCloseTo(
        parts.reduce((sum, [name, value]) => sum + weights[name] * value, 0),
        5,
      );
    }
    const newcomer = candidates.find(({ agent_name }) => agent_name === 'b')!;
    expect(newcomer.factors).toMatchObject({ reliability_score: 0.9, latency_score: expect.closeTo(1 / 1.025, 5) });
  });

  test('the one without a record gets some of the traffic, and not all of it', async () => {
    const counts = await tally(routerOf({ stats: known }));
    // Two others share one in ten: 100 each, standard deviation 9.7.
    expect(Math.abs(counts.b! - 100)).toBeLessThan(40);
    expect(Math.abs(counts.c! - 100)).toBeLessThan(40);
    expect(counts.a).toBeGreaterThan(1_700);
  });

  test('similarity alone: equals are settled by lot, in a dry run by name', async () => {
    const weights = { semantic_similarity: 1, latency_score: 0, reliability_score: 0 };
    const router = routerOf({ stats: known }, { weights });
    const counts = await tally(router, work(), 3_000);
    for (const name of 'abc') expect(Math.abs(counts[name]! - 1_000)).toBeLessThan(104); // four standard deviations
    expect((await router.explain(work())).agent_name).toBe('a');
    expect((await router.route(work())).route_reason).toMatch(/a tie, settled by lot|exploration/);
  });
});
