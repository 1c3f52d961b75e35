import { agent, instance, world } from '../test/routing/fixtures';
import { LexicalMatcher } from '../src/embeddings';
import type { AgentVersion } from '../src/protocol/world';
import { DEFAULT_ROUTER_CONFIG, Router } from '../src/routing';
import { admit } from './admission';
import { fakeDependencies } from './test-support';

const at = (version: string, ids: string[], places: number): AgentVersion =>
  agent(
    { name: 'desk', version, capabilities: ['work'] },
    ids.map((id) =>
      instance({ instance_id: id, version, host: `http://${id}/`, source: 'static', max_concurrency: places }),
    ),
  );

/** Ids of the instances that the newest version's calls go to, whatever the chance. */
async function pickedOf(agents: AgentVersion[], inFlight: Record<string, number>): Promise<Set<string>> {
  const stats = Object.fromEntries(Object.entries(inFlight).map(([id, count]) => [id, { in_flight: count }]));
  const view = world({ agents, stats });
  const picked = new Set<string>();
  for (const random of [0, 0.5, 0.999]) {
    const parts = { matcher: new LexicalMatcher(), config: DEFAULT_ROUTER_CONFIG, random: () => random };
    const router = new Router({ ...parts, world: () => view });
    const admission = await admit({ ...fakeDependencies().deps, world: () => view, router }, request(agents.at(-1)!));
    picked.add(admission.instance.instance_id);
    admission.end('ok', 1);
  }
  return picked;
}

const request = (one: AgentVersion): Parameters<typeof admit>[1] => ({
  agent: one,
  ability: 'work',
  mark: null,
  retry: false,
  budgetMs: 1_000,
  patienceMs: 0,
  mayWait: false,
  avoid: [],
  signal: new AbortController().signal,
  caller: 'r-1',
});

it('passes over an instance that is full by count', async () => {
  const alone = [at('2.0.0', ['static-0', 'static-1'], 5)];
  expect(await pickedOf(alone, { 'static-0': 8 })).toEqual(new Set(['static-1']));
});

it('does not take the calls of another version at its first address for its own', async () => {
  const both = [at('1.0.0', ['static-0'], 50), at('2.0.0', ['static-0', 'static-1'], 5)];
  expect(await pickedOf(both, { 'static-0': 8 })).toEqual(new Set(['static-0', 'static-1']));
});
