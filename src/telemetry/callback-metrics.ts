import { Counter, type Registry } from 'prom-client';

/** Attempts to tell the end of a reach, by how and with what outcome. */
export interface CallbackMetrics {
  attempted(channel: 'callback' | 'signal' | 'topic', outcome: 'delivered' | 'retried' | 'failed'): void;
}

/** Registers `agent_reach_callback_attempts_total`. Receivers are no labels: who sends chooses them, without bounds. */
export function createCallbackMetrics(registry: Registry): CallbackMetrics {
  const attempts = new Counter({
    name: 'agent_reach_callback_attempts_total',
    help: 'Attempts to tell the end of a reach to a callback, a workflow or a topic; failed: given up',
    labelNames: ['channel', 'outcome'] as const,
    registers: [registry],
  });
  return { attempted: (channel, outcome) => attempts.inc({ channel, outcome }) };
}
