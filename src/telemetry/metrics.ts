import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import { ERROR_CODES } from '../protocol/error-codes';
import { readGauge } from './read-gauge';

/** Metrics of calls to agents and of connection reuse. Labels come from closed sets only (M05). */
export interface AgentMetrics {
  callFinished(outcome: 'ok' | string, durationMs: number): void;
  connectionOpened(): void;
  connectionFailed(): void;
  requestSent(): void;
}

/** A registry with the process's own metrics. */
export function createMetricsRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** New connections beside requests show whether connections are reused (R39). */
export function createAgentMetrics(registry: Registry): AgentMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'agent_reach_attempts_total',
    help: 'Attempts at agents by outcome: ok or an error code',
    labelNames: ['outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'agent_reach_attempt_duration_seconds',
    help: 'Time of one attempt at an agent',
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
    registers,
  });
  const connections = new Counter({
    name: 'agent_reach_agent_connections_total',
    help: 'New connections to agents',
    registers,
  });
  const failures = new Counter({
    name: 'agent_reach_agent_connection_failures_total',
    help: 'Connects to agents that failed',
    registers,
  });
  const requests = new Counter({
    name: 'agent_reach_agent_requests_total',
    help: 'HTTP requests to agents, health checks included',
    registers,
  });
  const known = new Set<string>(ERROR_CODES);
  return {
    callFinished(outcome, durationMs) {
      attempts.inc({ outcome: outcome === 'ok' || known.has(outcome) ? outcome : 'other' });
      duration.observe(durationMs / 1_000);
    },
    connectionOpened: () => connections.inc(),
    connectionFailed: () => failures.inc(),
    requestSent: () => requests.inc(),
  };
}

/** Where requests and connections are counted by origin as well, which no label may be. */
interface Ledger {
  requested(origin: string): void;
  connected(origin: string): void;
  failed(origin: string): void;
}

/** What a pool of connections tells: counted in all by metrics, and by origin in a ledger (R39). */
export function countingConnections(ledger: Ledger, metrics: AgentMetrics) {
  return {
    onRequest(origin: string): void {
      ledger.requested(origin);
      metrics.requestSent();
    },
    onConnect(origin: string): void {
      ledger.connected(origin);
      metrics.connectionOpened();
    },
    onConnectFailed(origin: string): void {
      ledger.failed(origin);
      metrics.connectionFailed();
    },
  };
}

/** How old the registry's view is, and whether it is still fed. */
export function observeRegistry(
  registry: Registry,
  read: () => { connected: boolean; lastSyncAgeMs: number; agents: number },
): void {
  const gauge = (name: string, help: string, value: () => number) => readGauge(registry, name, help, value);
  gauge(
    'agent_reach_registry_sync_age_seconds',
    'Time since the registry view was last known to be current',
    () => read().lastSyncAgeMs / 1_000,
  );
  gauge('agent_reach_registry_connected', '1 while etcd feeds the registry view', () => (read().connected ? 1 : 0));
  gauge('agent_reach_agents', 'Registered agent versions', () => read().agents);
}
