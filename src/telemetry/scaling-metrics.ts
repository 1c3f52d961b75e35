import { setImmediate } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import type { ScalingHint } from '../protocol/scaling';

/** Agents with a line of their own, those with the most traffic first: a label for each of ten thousand would help nobody (M05). */
const MAX_AGENTS = 500;

/** Hints that are made at a stretch: other requests come in between. */
const AT_A_STRETCH = 25;

/** What an autoscaler reads of one agent, all its versions together. */
interface AgentLine {
  agent: string;
  recommended: number;
  instances: number;
  /** Null: nothing was measured. */
  utilisation: number | null;
  arrivalsPerSec: number;
  queueDepth: number;
}

/**
 * Gauges for KEDA and the Horizontal Pod Autoscaler (R35), labelled with names of registered agents only. They are worked out when
 * metrics are collected, once for all of them.
 */
export function observeScaling(registry: Registry, read: (agents: number) => Iterable<ScalingHint>): void {
  let reading: Promise<AgentLine[]> = Promise.resolve([]);
  const gauge = (name: string, help: string, value: (line: AgentLine) => number | null, begin?: () => void) =>
    new Gauge({
      name,
      help,
      labelNames: ['agent'],
      registers: [registry],
      async collect(this: Gauge) {
        begin?.(); // the registry asks its metrics in their order, without waiting between them
        const lines = await reading;
        this.reset();
        for (const line of lines) {
          const told = value(line);
          if (told !== null) this.set({ agent: line.agent }, told);
        }
      },
    });
  const refresh = () => void (reading = unhurried(read(MAX_AGENTS)).then(linesOf));
  gauge(
    'agent_reach_scaling_recommended_instances',
    'Instances that an agent needs',
    (line) => line.recommended,
    refresh,
  );
  gauge('agent_reach_agent_instances', 'Instances of an agent that take work', (line) => line.instances);
  gauge('agent_reach_agent_utilisation', 'Share of its capacity that is asked for', (line) => line.utilisation);
  gauge('agent_reach_agent_arrivals_per_second', 'Reaches sent to an agent', (line) => line.arrivalsPerSec);
  gauge('agent_reach_agent_queue_depth', 'Reaches that wait for an agent', (line) => line.queueDepth);
}

/** Everything, with a pause for others now and then: of many agents this takes a while. */
async function unhurried(hints: Iterable<ScalingHint>): Promise<ScalingHint[]> {
  const all: ScalingHint[] = [];
  for (const hint of hints) {
    all.push(hint);
    if (all.length % AT_A_STRETCH === 0) await setImmediate();
  }
  return all;
}

function linesOf(hints: readonly ScalingHint[]): AgentLine[] {
  const byAgent = new Map<string, AgentLine>();
  for (const { agent_name: agent, current, recommended } of hints) {
    const line = byAgent.get(agent);
    const told: AgentLine = {
      agent,
      recommended: (line?.recommended ?? 0) + recommended.instances,
      instances: (line?.instances ?? 0) + current.instances,
      // Versions do not help each other out: the one that is taken most says when more is needed.
      utilisation: greater(line?.utilisation ?? null, current.utilisation),
      arrivalsPerSec: (line?.arrivalsPerSec ?? 0) + current.arrival_per_sec,
      queueDepth: (line?.queueDepth ?? 0) + current.queue_depth,
    };
    byAgent.set(agent, told);
  }
  return [...byAgent.values()].slice(0, MAX_AGENTS);
}

function greater(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}
