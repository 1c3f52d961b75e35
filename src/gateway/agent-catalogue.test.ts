import { agent, world } from '../../test/routing/fixtures';
import { AgentCatalogue } from './agent-catalogue';

const agents = ['desk', 'bank', 'shop'].map((name) => agent({ name, version: '1.0.0', capabilities: ['mend'] }));
const view = {
  world: () => world({ agents }),
  agent: (name: string) => agents.filter((one) => one.name === name),
};
const closed = { state: 'closed' as const, since: '', share: 1, error_rate: 0, requests: 0 };
const catalogue = new AgentCatalogue(view, { view: () => closed }, { queueDepth: (name) => (name === 'desk' ? 7 : 0) });

it('an agent tells how many wait for it', () => {
  expect(catalogue.agent('desk').stats.queue_depth).toBe(7);
  expect(catalogue.agents().map(({ name, stats }) => [name, stats.queue_depth])).toContainEqual(['bank', 0]);
});

it('lists agents by name, page by page', () => {
  const first = catalogue.agentsPage({ limit: 2 });
  expect(first.items.map(({ name }) => name)).toEqual(['bank', 'desk']);
  const second = catalogue.agentsPage({ limit: 2, cursor: first.next_cursor });
  expect(second).toMatchObject({ items: [{ name: 'shop' }] });
  expect(second.next_cursor).toBeUndefined();
  expect(catalogue.agentsPage({}).items).toHaveLength(3);
});
