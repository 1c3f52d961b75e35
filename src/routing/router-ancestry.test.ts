/** Whoever waits for a reach is no candidate for it (R10). */
import fc from 'fast-check';
import { agent, request, world } from '../../test/routing/fixtures';
import { LexicalMatcher } from '../embeddings';
import { linkOf } from '../protocol/lineage';
import { ReachError } from '../protocol/reach-error';
import { DEFAULT_ROUTER_CONFIG, Router } from './index';

const offering = (name: string, ...abilities: string[]) => agent({ name, version: '1.0.0', capabilities: abilities });
const routerOf = (...agents: ReturnType<typeof offering>[]) =>
  new Router({ world: () => world({ agents }), matcher: new LexicalMatcher(), config: DEFAULT_ROUTER_CONFIG });

const writer = offering('writer', 'write', 'proofread');
const colleague = offering('colleague', 'write');

test('a colleague takes what the one above offers as well', async () => {
  const router = routerOf(writer, colleague);
  for (let n = 0; n < 20; n += 1) {
    const { chosen, excluded } = await router.route(request({ ability: 'write', chain: ['writer/write'] }));
    expect(chosen.agent_name).toBe('colleague');
    expect(excluded).toEqual([
      expect.objectContaining({ agent_name: 'writer', reason: expect.stringContaining('loop') }),
    ]);
  }
});

test('another ability of the same agent is no loop', async () => {
  const { chosen } = await routerOf(writer).route(request({ ability: 'proofread', chain: ['writer/write'] }));
  expect(chosen).toMatchObject({ agent_name: 'writer', ability: 'proofread' });
});

test.each([
  ['the ability', { ability: 'write' }],
  ['the agent and its ability', { ability: 'write', target_agent: 'writer' }],
  ['whatever fits', { ability: '*', payload: { text: 'write' } }],
])('with nobody else it is refused, asked for by %s', async (_, wanted) => {
  const only = offering('writer', 'write');
  const refused = await routerOf(only)
    .route(request({ ...wanted, chain: ['desk/plan', 'writer/write'] }))
    .catch((caught: unknown) => caught);
  expect(refused).toBeInstanceOf(ReachError);
  expect((refused as ReachError).code).toBe('delegation_loop');
  expect((refused as ReachError).message).toContain('desk/plan → writer/write →');
});

test('a decision made elsewhere does not stand when it would loop', async () => {
  const router = routerOf(writer, colleague);
  const decision = await router.route(request({ ability: 'write', target_agent: 'writer' }));
  expect(router.stillGood(decision, request({ ability: 'write' }))).toBe(true);
  expect(router.stillGood(decision, request({ ability: 'write', chain: ['writer/write'] }))).toBe(false);
});

test('whatever the chain, nobody in it is chosen for the same ability', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const router = routerOf(...names.map((name) => offering(name, 'work', 'rest')));
  const links = names.flatMap((name) => [linkOf(name, 'work'), linkOf(name, 'rest')]);
  await fc.assert(
    fc.asyncProperty(fc.subarray(links), fc.constantFrom('work', 'rest'), async (chain, ability) => {
      const free = names.filter((name) => !chain.includes(linkOf(name, ability)));
      const chosen = await router.route(request({ ability, chain })).then(
        (decision) => decision.chosen.agent_name,
        (caught: unknown) => (caught as ReachError).code,
      );
      expect(free.length === 0 ? ['delegation_loop'] : free).toContain(chosen);
    }),
  );
});
