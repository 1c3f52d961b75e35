import { Counter, type Registry } from 'prom-client';

/** `agent_reach_alerts_total`: what this process raised, as a channel of alerts. */
export function alertCounter(registry: Registry) {
  const raised = new Counter({
    name: 'agent_reach_alerts_total',
    help: 'Alerts that this process raised, by kind and severity',
    labelNames: ['kind', 'severity'],
    registers: [registry],
  });
  return {
    name: 'metrics',
    send: ({ kind, severity }: { kind: string; severity: string }) => raised.inc({ kind, severity }),
  };
}
