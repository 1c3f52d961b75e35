import { Counter, Gauge, type Registry } from 'prom-client';
import type { BreakerState, BreakerView } from '../protocol/reliability';
import { readGauge } from './read-gauge';

const STATES: readonly BreakerState[] = ['bypass', 'open', 'half_open', 'recovering'];

/** What the reliability layer tells of itself. Labels come from closed sets only (M05): which agent, the API says. */
export interface ReliabilityMetrics {
  breakerTurned(from: BreakerState, to: BreakerState): void;
}

/** Counts the transitions that this process made. */
export function createReliabilityMetrics(registry: Registry): ReliabilityMetrics {
  const transitions = new Counter({
    name: 'agent_reach_breaker_transitions_total',
    help: 'Transitions of circuit breakers made by this process',
    labelNames: ['from', 'to'],
    registers: [registry],
  });
  return { breakerTurned: (from, to) => transitions.inc({ from, to }) };
}

/** What is read whenever metrics are collected. */
export interface ReliabilityState {
  breakers: readonly Pick<BreakerView, 'state' | 'override'>[];
  ejectedInstances: number;
  workers: number;
  degraded: boolean;
}

/** Shows how many breakers are in which state, and what else holds traffic back. */
export function observeReliability(registry: Registry, read: () => ReliabilityState): void {
  const registers = [registry];
  new Gauge({
    name: 'agent_reach_breakers',
    help: 'Circuit breakers that are not closed, by state; held: by an operator',
    labelNames: ['state'],
    registers,
    collect(this: Gauge) {
      const { breakers } = read();
      for (const state of STATES) this.set({ state }, breakers.filter((one) => one.state === state).length);
      this.set({ state: 'held' }, breakers.filter(({ override }) => override !== undefined).length);
    },
  });
  const gauge = (name: string, help: string, value: (state: ReliabilityState) => number) =>
    readGauge(registry, name, help, () => value(read()));
  gauge('agent_reach_ejected_instances', 'Instances left out for failing in a row', (state) => state.ejectedInstances);
  gauge('agent_reach_workers', 'Workers that share the limits on calls at once', (state) => state.workers);
  gauge('agent_reach_degraded_mode', '1 while too few agents are healthy', (state) => (state.degraded ? 1 : 0));
}

/** Shows what makes a gateway tell senders to hold back. */
export function observeBackpressure(
  registry: Registry,
  read: () => { inFlight: number; backlog: number; backlogAgeMs: number },
): void {
  const gauge = (name: string, help: string, value: () => number) => readGauge(registry, name, help, value);
  gauge('agent_reach_requests_in_flight', 'Requests to reach somebody in hand', () => read().inFlight);
  gauge('agent_reach_worker_backlog', 'Tasks that no worker has taken', () => read().backlog);
  gauge('agent_reach_worker_backlog_age_seconds', 'Age of the oldest of them', () => read().backlogAgeMs / 1_000);
}
