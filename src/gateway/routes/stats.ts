import { Router } from 'express';
import { agentQuerySchema, type AgentStats, type Stats } from '../../protocol/scaling';
import { validate } from '../../protocol/validation';
import type { AgentBody } from '../agent-catalogue';
import { handle } from '../http';
import type { Scaling } from '../scaling';
import type { ScalingRouteDependencies } from './scaling';

/** `/v1/stats` (R34): what every agent is doing, and all of them together; to be mounted at `/v1`. */
export function statsRoutes({ scaling, catalogue }: ScalingRouteDependencies): Router {
  const router = Router();

  router.get(
    '/stats',
    handle((request, response) => {
      const { agent } = validate(agentQuerySchema, request.query, { what: 'the query' });
      const agents = agent === undefined ? catalogue.agents() : [catalogue.agent(agent)];
      const items = agents.map((one) => statsOf(one, scaling)).sort((a, b) => (a.agent_name < b.agent_name ? -1 : 1));
      response.json({ items, totals: totalsOf(items) } satisfies Stats);
    }),
  );

  return router;
}

function statsOf({ name, status, stats, instances }: AgentBody, scaling: Scaling): AgentStats {
  const { requests, failure_rate, in_flight, p50_ms, p95_ms, p99_ms } = stats;
  return {
    agent_name: name,
    status,
    instances: instances.filter((one) => one.status === 'ready' || one.status === 'busy').length,
    requests,
    failure_rate,
    in_flight,
    queue_depth: scaling.queueDepth(name),
    arrival_per_sec: Math.round(scaling.arrivalsPerSec(name) * 1_000) / 1_000,
    p50_ms,
    p95_ms,
    p99_ms,
  };
}

function totalsOf(items: readonly AgentStats[]): Stats['totals'] {
  const sum = (read: (one: AgentStats) => number) => items.reduce((total, one) => total + read(one), 0);
  const requests = sum((one) => one.requests);
  const failures = sum((one) => (one.failure_rate ?? 0) * one.requests);
  return {
    agents: items.length,
    instances: sum((one) => one.instances),
    requests,
    failure_rate: requests === 0 ? null : failures / requests,
    in_flight: sum((one) => one.in_flight),
    queue_depth: sum((one) => one.queue_depth),
    arrival_per_sec: Math.round(sum((one) => one.arrival_per_sec) * 1_000) / 1_000,
  };
}
