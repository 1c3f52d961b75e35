/** Decisions of a real router over generated worlds: what a log would hold. */
import fc from 'fast-check';
import { LexicalMatcher } from '../../src/embeddings';
import type { LoggedDecision, MeasuredThen } from '../../src/protocol/logged-decision';
import type { Matcher } from '../../src/protocol/matching';
import { routeTable, type RouteEntry } from '../../src/protocol/route-table';
import type { AdmissionMark } from '../../src/protocol/reliability';
import { DEFAULT_ROUTER_CONFIG, Router, type Recording, type RouterConfig } from '../../src/routing';
import { agent, instance, request, ScriptedBreakers, seededRandom, world, type WorldParts } from '../routing/fixtures';

const TOPICS = ['refund of an order', 'shipping and delivery', 'battery of a phone', '退款 进度', 'invoice address'];
const TEXTS = ['where is my refund', 'when is it delivered', 'my battery is dead', '我的退款在哪里', ''];

/** One agent's version in a generated world. */
interface AgentPlan {
  name: string;
  version: string;
  topic: number;
  ready: boolean;
  stats: MeasuredThen | null;
  breaker: { share: number; mark: AdmissionMark | null } | null;
}

/** What a generated decision is made in. */
export interface Plan {
  agents: AgentPlan[];
  routes: RouteEntry[];
  strategy: RouterConfig['defaultStrategy'];
  text: number;
  mode: 'sync' | 'async';
  sticky: boolean;
  named: boolean;
  open: boolean;
  rule: boolean;
  degraded: boolean;
  seed: number;
}

const stats = fc.record({
  requests: fc.integer({ min: 0, max: 1_000 }),
  failures: fc.integer({ min: 0, max: 400 }),
  p50_ms: fc.option(fc.integer({ min: 1, max: 4_000 })),
});
/** A record that has faded: the score goes by what it still weighs. */
const faded = fc
  .tuple(stats, fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([record, share, bad]) => {
    const requests = record.requests * share;
    return { ...record, evidence: { requests, failures: requests * bad } };
  });
const breaker = fc.constantFrom<NonNullable<AgentPlan['breaker']>>(
  { share: 0, mark: null },
  { share: 0.05, mark: 'bypass' },
  { share: 0.5, mark: 'recovery' },
  { share: 1, mark: 'probe' },
);
const agentPlan = fc.record<AgentPlan>({
  name: fc.constantFrom('ant', 'bee', 'cat', 'dog', 'eel', 'fox'),
  version: fc.constantFrom('1.0.0', '1.1.0', '2.0.0'),
  topic: fc.nat({ max: TOPICS.length - 1 }),
  ready: fc.integer({ min: 0, max: 5 }).map((n) => n > 0),
  stats: fc.option(fc.oneof(stats, faded)),
  breaker: fc.option(breaker, { freq: 2 }),
});
const routes = fc.array(
  fc.record({
    ability: fc.constant('help'),
    from: fc.constantFrom('default', 'beta'),
    to: fc
      .tuple(fc.constantFrom('ant', 'bee', 'cat'), fc.constantFrom('1.0.0', '1.1.0', '2.0.0'))
      .map(([name, version]) => `${name}#${version}`),
    weight: fc.constantFrom(0, 1, 10, 90),
  }),
  { maxLength: 4 },
);
const sometimes = fc.integer({ min: 0, max: 6 }).map((n) => n === 0);

/** Worlds and requests of every kind. */
export const plans: fc.Arbitrary<Plan> = fc.record<Plan>({
  agents: fc.uniqueArray(agentPlan, { minLength: 1, maxLength: 9, selector: ({ name, version }) => name + version }),
  routes: routes.map(unique),
  strategy: fc.constantFrom('score_based', 'score_based', 'score_based', 'round_robin', 'random'),
  text: fc.nat({ max: TEXTS.length - 1 }),
  mode: fc.constantFrom('sync', 'async'),
  sticky: fc.boolean(),
  named: sometimes,
  open: sometimes,
  rule: sometimes,
  degraded: sometimes,
  seed: fc.nat(),
});

function unique(entries: RouteEntry[]): RouteEntry[] {
  return [...new Map(entries.map((one) => [`${one.from} ${one.to}`, one])).values()];
}

function worldOf({ agents, routes: entries, degraded }: Plan): WorldParts & { routes: ReturnType<typeof routeTable> } {
  const keyOf = ({ name, version }: AgentPlan) => `${name}#${version}/help`;
  return {
    agents: agents.map(({ name, version, topic, ready }, i) => ({
      ...agent(
        {
          name,
          version,
          capabilities: [{ name: 'help', description: TOPICS[topic]!, examples: [TEXTS[topic] || 'x'] }],
        },
        ready ? [instance({ version })] : [],
      ),
      registered_at: `2026-01-0${1 + (i % 9)}T00:00:00.000Z`,
    })),
    stats: Object.fromEntries(agents.flatMap((one) => (one.stats ? [[keyOf(one), one.stats]] : []))),
    breakers: new ScriptedBreakers(
      Object.fromEntries(agents.flatMap((one) => (one.breaker ? [[keyOf(one), { ...one.breaker, detail: 'x' }]] : []))),
    ),
    degraded: degraded ? { healthyShare: 0.1, threshold: 0.3, since: '2026-01-01T00:00:00.000Z' } : null,
    routes: routeTable(entries, { etag: 'generated' }),
  };
}

/** Counts the words in common: how near two texts are depends on nobody else, as it does with real matchers a little. */
export const wordCounter: Matcher = {
  async similarities(text, abilities, { accept = () => true } = {}) {
    const wanted = new Set(text.split(' '));
    return abilities.flatMap(({ texts }, position) => {
      const cosine = Math.min(
        1,
        texts
          .join(' ')
          .split(' ')
          .filter((word) => wanted.has(word)).length / 8,
      );
      const match = { position, cosine, closeness: 5 * cosine, fit: cosine > 0 ? 0.9 : 0.1 };
      return accept(position) ? [{ ...match, by: 'dense' as const, degraded: false }] : [];
    });
  },
  prepare: () => Promise.resolve(),
};

/** Decides once in a generated world, and returns what is logged of it, as it comes back from the log. */
export async function logged(
  plan: Plan,
  changed: Partial<RouterConfig> = {},
  matcher: Matcher = new LexicalMatcher(),
): Promise<LoggedDecision> {
  const kept: Recording[] = [];
  const parts = worldOf(plan);
  const config: RouterConfig = {
    ...DEFAULT_ROUTER_CONFIG,
    defaultStrategy: plan.strategy,
    rules: plan.rule ? [{ agent: plan.agents[0]!.name }] : [],
    ...changed,
  };
  const router = new Router({
    world: () => ({ ...world(parts), routes: parts.routes }),
    matcher,
    config,
    random: seededRandom(plan.seed),
    newId: () => `d-${plan.seed}`,
    now: () => new Date('2026-03-01T12:00:00.000Z'),
    recorder: {
      madeBy: 'test',
      wants: () => true,
      keep: (one) => kept.push(one),
      lost: (bug) => {
        throw new Error('a decision could not be recorded', { cause: bug });
      },
    },
  });
  const asked = request({
    ability: plan.open ? '*' : 'help',
    payload: { text: TEXTS[plan.text]! },
    mode: plan.mode,
    ...(plan.sticky && { sticky_key: `caller ${plan.seed}` }),
    ...(plan.named && { target_agent: plan.agents[0]!.name }),
  });
  await router.route(asked).catch(() => undefined);
  await kept[0]?.complete?.();
  return JSON.parse(JSON.stringify(kept[0]?.record ?? null)) as LoggedDecision;
}
