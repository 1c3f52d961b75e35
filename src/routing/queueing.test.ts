/** Agents that are full of this platform's own calls: worth queueing for where nobody has room, and only there (R14, R29). */
import { agent, instance, request, world } from '../../test/routing/fixtures';
import { LexicalMatcher } from '../embeddings';
import type { InstanceState } from '../protocol/shapes';
import { DEFAULT_ROUTER_CONFIG, Router } from './index';

const FULL = { status: 'busy', full_by_count: true, in_flight: 4, max_concurrency: 4 } as const;
const REPORTED = { status: 'busy', in_flight: 4, max_concurrency: 4 } as const;

function routerOf(states: Record<string, Partial<InstanceState>>): Router {
  const agents = Object.entries(states).map(([name, state]) =>
    agent({ name, version: '1.0.0', capabilities: ['work'] }, [instance(state)]),
  );
  return new Router({
    world: () => world({ agents }),
    matcher: new LexicalMatcher(),
    config: DEFAULT_ROUTER_CONFIG,
  });
}

const asked = request({ ability: 'work' });
const chosenBy = async (router: Router) => (await router.route(asked)).chosen.agent_name;
const standing = (agent_name: string) => ({ chosen: { agent_name, agent_version: '1.0.0', ability: 'work' } });

it('has a call queue where nobody has room, and says so', async () => {
  const router = routerOf({ a: FULL });
  const decision = await router.route(asked);
  expect(decision.route_reason).toContain('nobody has room now (busy since');
  expect(router.stillGood(decision, asked)).toBe(true);
  expect(router.pickInstance('a', '1.0.0', 'work', { isFull: () => false })).not.toBeNull();
});

it('prefers whoever has room, also to a decision that was made before', async () => {
  const router = routerOf({ a: FULL, b: {} });
  expect(await chosenBy(router)).toBe('b');
  expect([router.stillGood(standing('a'), asked), router.stillGood(standing('b'), asked)]).toEqual([false, true]);
});

it('sends nothing to one that says itself that it is busy', async () => {
  const router = routerOf({ a: REPORTED });
  await expect(router.route(asked)).rejects.toMatchObject({ code: 'no_ready_instance' });
  expect(router.stillGood(standing('a'), asked)).toBe(false);
  expect(router.pickInstance('a', '1.0.0', 'work', { isFull: () => false })).toBeNull();
  expect(await chosenBy(routerOf({ a: REPORTED, b: FULL }))).toBe('b');
});
