import { Counter, Gauge, type Registry } from 'prom-client';

/** What happens to the decision log (R23). */
export interface DecisionMetrics {
  written(decisions: number, bytes: number): void;
  dropped(decisions: number): void;
  failed(): void;
  kept(segments: number, bytes: number): void;
}

/** Registers `agent_reach_decision_log_…`. */
export function createDecisionMetrics(registry: Registry, pending: () => number): DecisionMetrics {
  const registers = [registry];
  const written = new Counter({
    name: 'agent_reach_decision_log_written_total',
    help: 'Routing decisions written to the decision log',
    registers,
  });
  const bytes = new Counter({
    name: 'agent_reach_decision_log_written_bytes_total',
    help: 'What they took, compressed',
    registers,
  });
  const dropped = new Counter({
    name: 'agent_reach_decision_log_dropped_total',
    help: 'Decisions that were not kept, as the store took too little',
    registers,
  });
  const failures = new Counter({
    name: 'agent_reach_decision_log_failures_total',
    help: 'Times that the store went away while decisions were written; they wait and are written later',
    registers,
  });
  const size = new Gauge({
    name: 'agent_reach_decision_log_bytes',
    help: 'The whole log, as of the last time it was cleaned',
    registers,
  });
  const segments = new Gauge({ name: 'agent_reach_decision_log_segments', help: 'Its segments', registers });
  new Gauge({
    name: 'agent_reach_decision_log_pending',
    help: 'Decisions of this process that wait to be written',
    registers,
    collect() {
      this.set(pending());
    },
  });
  return {
    written(decisions, size_) {
      written.inc(decisions);
      bytes.inc(size_);
    },
    dropped: (decisions) => dropped.inc(decisions),
    failed: () => failures.inc(),
    kept(count, total) {
      segments.set(count);
      size.set(total);
    },
  };
}
