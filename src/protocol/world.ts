/**
 * What routing knows of the world, as plain data: the registry's view produces it, routing reads it.
 */
import type { Descriptor } from './descriptor';
import type { BreakerLookup } from './reliability';
import type { RouteTable } from './route-table';
import type { InstanceState } from './shapes';

/** One registered version of an agent with its live instances. */
export interface AgentVersion {
  name: string;
  version: string;
  descriptor: Descriptor;
  registered_at: string;
  /** When the version was first registered, where its descriptor was replaced since: what is new is told by it (R21). */
  first_registered_at?: string;
  instances: InstanceState[];
  /** Instances that expired or deregistered within about an hour, newest first, status `expired`: for diagnoses only (R22). */
  gone?: InstanceState[];
}

/** Measured behaviour of one ability of an agent's version over the last 5 min (latency) and 1000 requests (failures). */
export interface AbilityStats {
  requests: number;
  failures: number;
  /**
   * What these outcomes still weigh, in fractions of requests: half after each `router.learning.half_life`, so that a bad
   * record fades. Absent where nobody weighs: then each counts in full.
   */
  evidence?: { requests: number; failures: number };
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  in_flight: number;
}

/** Looks up measured behaviour; null when nothing was measured yet. `instance` narrows it to one instance. */
export interface StatsLookup {
  ability(agentName: string, agentVersion: string, ability: string): AbilityStats | null;
  instance(agentName: string, instanceId: string): AbilityStats | null;
}

/** The registry as routing sees it at one moment. `revision` grows with every change. */
export interface World {
  revision: string;
  agents: readonly AgentVersion[];
  stats: StatsLookup;
  /** Absent: no breakers, everything passes. */
  breakers?: BreakerLookup;
  /** How the versions of agents share their calls (R21). Absent: nobody has written a route. */
  routes?: RouteTable;
  /** Set while too few agents are healthy (R24). */
  degraded?: DegradedMode | null;
}

/** The healthy share of the agents is below `registry.health_threshold` (R24). */
export interface DegradedMode {
  healthyShare: number;
  threshold: number;
  since: string;
}
