import { Counter, Gauge, type Registry } from 'prom-client';

/** Metrics of dead letters (R31). */
export interface DeadLetterMetrics {
  /** A failed run was replaced by a new one; repeats of the request do not count. */
  redriven(): void;
  /** What the process that sweeps has found; null for all others, which show 0: take the maximum over the gateways. */
  found(counts: { open: number; expiring: number; truncated: boolean } | null): void;
}

/**
 * `agent_reach_dead_letters`, `agent_reach_dead_letters_expiring`, `agent_reach_dead_letters_truncated`,
 * `agent_reach_dead_letters_redriven_total`.
 */
export function createDeadLetterMetrics(registry: Registry): DeadLetterMetrics {
  const registers = [registry];
  const open = new Gauge({
    name: 'agent_reach_dead_letters',
    help: 'Open dead letters, as the gateway that sweeps found them; 0 in all others',
    registers,
  });
  const expiring = new Gauge({
    name: 'agent_reach_dead_letters_expiring',
    help: 'Open dead letters that retention removes within dead_letters.alert_before; 0 where no sweep is done',
    registers,
  });
  const truncated = new Gauge({
    name: 'agent_reach_dead_letters_truncated',
    help: '1 while there are more failed runs than one sweep looks at, so that the counts are at least; else 0',
    registers,
  });
  const redriven = new Counter({
    name: 'agent_reach_dead_letters_redriven_total',
    help: 'Dead letters that this gateway has redriven',
    registers,
  });
  return {
    redriven: () => redriven.inc(),
    found(counts) {
      open.set(counts?.open ?? 0);
      expiring.set(counts?.expiring ?? 0);
      truncated.set(counts?.truncated ? 1 : 0);
    },
  };
}
