/** Scaling hints and estimates at acceptance, built from a process's Config: what a gateway adds to the platform for them (R25, R35). */
import { Client } from '@temporalio/client';
import type { Registry as MetricsRegistry } from 'prom-client';
import { Arrivals } from './gateway/arrivals';
import { Feasibility } from './gateway/feasibility';
import { PullQueues } from './gateway/pull-queues';
import { Scaling } from './gateway/scaling';
import type { Platform } from './platform';
import { AgentsByName } from './protocol/agents-by-name';
import { observeScaling } from './telemetry/scaling-metrics';

/** What `ReachService` asks when it accepts. */
export function acceptanceOf({ view, demand, config, activities }: Platform) {
  const world = () => view.world();
  const { feasibility, min_probability: minProbability } = config.acceptance;
  return {
    arrivals: new Arrivals(demand, new AgentsByName(world)),
    feasibility: new Feasibility({
      world,
      demand,
      limitOf: activities.limitOf,
      settings: { feasibility, minProbability },
      queueWaitMs: config.bulkhead.queue_wait,
    }),
  };
}

/** Hints over the API and as metrics; `stop` ends the looks at Temporal's queues. */
export function scalingOf(platform: Platform, metrics: MetricsRegistry): { scaling: Scaling; stop: () => void } {
  const { view, demand, breakers, config, connection, activities } = platform;
  const { namespace } = config.temporal;
  const pulled = new PullQueues({
    client: new Client({ connection, namespace }),
    namespace,
    world: () => view.world(),
  });
  const { target_utilisation: targetUtilisation, target_wait_ms: targetWaitMs = null } = config.scaling;
  const scaling = new Scaling({
    view,
    demand,
    breakers,
    limitOf: activities.limitOf,
    pullDepth: (name, version) => pulled.depth(name, version),
    settings: { targetUtilisation, targetWaitMs },
  });
  observeScaling(metrics, (limit) => scaling.busiest(limit));
  pulled.start();
  return { scaling, stop: () => pulled.stop() };
}
