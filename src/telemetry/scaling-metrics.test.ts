import { Registry } from 'prom-client';
import type { ScalingHint } from '../protocol/scaling';
import { observeScaling } from './scaling-metrics';

const hint = (agent: string, instances: number, arrivals: number, utilisation: number | null = 0.5) =>
  ({
    agent_name: agent,
    current: { instances: 1, arrival_per_sec: arrivals, utilisation, queue_depth: 2 },
    recommended: { instances },
  }) as ScalingHint;

async function linesOf(hints: ScalingHint[]): Promise<string[]> {
  const registry = new Registry();
  observeScaling(registry, () => hints);
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('agent_reach'));
}

it('adds up the versions of an agent, and takes the utilisation of the one that is taken most', async () => {
  const lines = await linesOf([hint('desk', 2, 3), hint('desk', 1, 1, 0.9), hint('quiet', 1, 0, null)]);
  expect(lines).toEqual(
    expect.arrayContaining([
      'agent_reach_scaling_recommended_instances{agent="desk"} 3',
      'agent_reach_agent_instances{agent="desk"} 2',
      'agent_reach_agent_utilisation{agent="desk"} 0.9',
      'agent_reach_agent_arrivals_per_second{agent="desk"} 4',
      'agent_reach_agent_queue_depth{agent="desk"} 4',
      'agent_reach_scaling_recommended_instances{agent="quiet"} 1',
    ]),
  );
  expect(lines.join()).not.toContain('utilisation{agent="quiet"}');
});

it('has no more than 500 agents', async () => {
  const lines = await linesOf(Array.from({ length: 600 }, (_, n) => hint(`a${n}`, 1, n)));
  expect(lines.filter((line) => line.startsWith('agent_reach_scaling'))).toHaveLength(500);
});
