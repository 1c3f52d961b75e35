/** Hints out of a world and a demand as plain data: which versions have one, and what is counted as capacity. */
import { Scaling } from '../../src/gateway/scaling';
import { descriptorSchema } from '../../src/protocol/descriptor';
import { scalingHintSchema } from '../../src/protocol/scaling';
import type { InstanceState } from '../../src/protocol/shapes';
import type { AgentVersion, World } from '../../src/protocol/world';
import type { MeasuredDemand } from '../../src/registry';

const instanceOf = (status: InstanceState['status'], max_concurrency: number | null = 4): InstanceState => ({
  instance_id: status,
  host: null,
  version: '1.0.0',
  status,
  status_reason: '',
  since: '',
  load: 0,
  in_flight: 1,
  max_concurrency,
  health: 'unknown',
  source: 'lease',
});

function agentOf(name: string, version: string, instances: InstanceState[]): AgentVersion {
  const descriptor = descriptorSchema.parse({ name, version, capabilities: ['work'] });
  return { name, version, descriptor, registered_at: '', instances };
}

const demandOf = (version: string, perSec: number): MeasuredDemand => ({
  version,
  ability: 'work',
  arrivalsPerSec: perSec,
  arrivalsPerSec1m: perSec,
  callsPerSec: perSec,
  windowSec: 300,
  arrivals: perSec * 300,
  slots: [],
  service: { count: 600, sumMs: 60_000, sumSquaresMs2: 12_000_000, values: [[100, 600]] },
  earlier: null,
});

function scalingOf(agents: AgentVersion[], demand: Record<string, MeasuredDemand[]> = {}) {
  const world = { revision: '1', agents, stats: { ability: () => null, instance: () => null } } as World;
  return new Scaling({
    view: { world: () => world, agent: (name) => agents.filter((one) => one.name === name) },
    demand: { agent: (name) => ({ queueDepth: name === 'desk' ? 10 : 0, series: demand[name] ?? [] }) },
    breakers: { view: () => ({ state: 'closed', since: '', error_rate: 0, requests: 0, share: 1 }) },
    limitOf: () => 100,
    pullDepth: (name) => (name === 'puller' ? 5 : 0),
    settings: { targetUtilisation: 0.8, targetWaitMs: null },
  });
}

it('counts ready and full instances, leaves out those that drain, and calls the others out', () => {
  const statuses = ['ready', 'busy', 'draining', 'unavailable'] as const;
  const agents = [
    agentOf(
      'desk',
      '1.0.0',
      statuses.map((status) => instanceOf(status)),
    ),
  ];
  const [hint] = scalingOf(agents, { desk: [demandOf('1.0.0', 2)] }).hints();
  expect(hint).toMatchObject({
    current: { instances: 2, max_concurrency: 8, in_flight: 2, queue_depth: 10, utilisation: 0.025 },
  });
  expect(scalingHintSchema.parse(hint)).toEqual(hint);
});

it('has one for each version with instances or traffic, the newest first, and shares the queue by traffic', () => {
  const versions = ['1.0.0', '1.1.0', '2.0.0', '0.9.0'];
  const agents = versions.map((one) => agentOf('desk', one, one.startsWith('1') ? [instanceOf('ready')] : []));
  const demand = { desk: [demandOf('1.0.0', 8), demandOf('2.0.0', 2)] };
  const hints = scalingOf(agents, demand).hints('desk');
  expect(hints.map((one) => [one.agent_version, one.current.queue_depth])).toEqual([
    ['2.0.0', 2],
    ['1.1.0', 0],
    ['1.0.0', 8],
  ]);
});

it('shows an agent without instances and traffic once', () => {
  const agents = [agentOf('quiet', '1.0.0', []), agentOf('quiet', '1.1.0', [])];
  expect(
    scalingOf(agents)
      .hints()
      .map((one) => one.agent_version),
  ).toEqual(['1.1.0']);
  expect(scalingOf(agents).hints('nobody')).toEqual([]);
});

it('adds what waits in the task queue of an agent that pulls', () => {
  const scaling = scalingOf([agentOf('puller', '1.0.0', [instanceOf('ready')])]);
  expect([scaling.queueDepth('puller'), scaling.hints('puller')[0]!.current.queue_depth]).toEqual([5, 5]);
});

it('for metrics keeps to those with the most traffic', () => {
  const agents = ['a', 'b', 'c'].map((name) => agentOf(name, '1.0.0', [instanceOf('ready')]));
  const demand = { b: [demandOf('1.0.0', 3)], c: [demandOf('1.0.0', 9)] };
  const busiest = (limit: number) => [...scalingOf(agents, demand).busiest(limit)].map((one) => one.agent_name);
  expect(busiest(2)).toEqual(['c', 'b']);
  expect(busiest(3)).toHaveLength(3);
});
