/**
 * The reliability layer of one process, built from its Config: breakers, ejections, slots of retries, and shares of the
 * limits on calls at once. States are shared through etcd; a process that makes no calls only follows them.
 */
import type { Config } from './config';
import { breakerSettings } from './policy/breaker';
import { Bulkheads } from './policy/bulkhead';
import type { World } from './protocol/world';
import { BreakerHub, Ejections, RetryPermits, WorkerCensus, type RegistryOptions } from './registry';
import type { ReliabilityMetrics } from './telemetry/reliability-metrics';

/** What protects agents and callers in this process. */
export interface Reliability {
  breakers: BreakerHub;
  ejections: Ejections;
  retryPermits: RetryPermits;
  bulkheads: Bulkheads;
  census: WorkerCensus;
  /** Reads the shared states. @throws ReachError `engine_unavailable` */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** `world` is asked late, so the view may be built from what this answers. */
export function createReliability(
  config: Config,
  base: RegistryOptions,
  { world, metrics }: { world: () => World; metrics: ReliabilityMetrics },
): Reliability {
  const breakers = new BreakerHub({
    ...base,
    settings: breakerSettings(config.breaker),
    onTransition: (_key, from, to) => metrics.breakerTurned(from, to),
  });
  const { consecutive_failures, base_sec, max_sec, max_percent } = config.ejection;
  const ejections = new Ejections({
    ...base,
    consecutiveFailures: consecutive_failures,
    baseMs: base_sec * 1_000,
    maxMs: max_sec * 1_000,
    maxPercent: max_percent,
    instances: (agentName, agentVersion) => instancesOf(world(), agentName, agentVersion),
  });
  const retryPermits = new RetryPermits({ ...base, concurrentPerAgent: config.retry.concurrent_per_agent });
  const census = new WorkerCensus(base);
  const bulkheads = new Bulkheads({ shares: census, queueLimit: config.bulkhead.queue_limit });
  const followed = [breakers, ejections, retryPermits];
  return {
    breakers,
    ejections,
    retryPermits,
    bulkheads,
    census,
    async start() {
      await Promise.all(followed.map((part) => part.start()));
    },
    async stop() {
      bulkheads.close();
      await census.stop();
      await Promise.all(followed.map((part) => part.stop()));
    },
  };
}

function instancesOf({ agents }: World, name: string, version: string): string[] {
  const agent = agents.find((one) => one.name === name && one.version === version);
  return agent?.instances.map(({ instance_id }) => instance_id) ?? [];
}
