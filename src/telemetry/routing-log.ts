import { Counter, type Registry } from 'prom-client';
import type { ReachError } from '../protocol/reach-error';
import type { Decision } from '../protocol/shapes';

/** The part of a logger that is used here. */
interface Log {
  info(facts: object, message: string): void;
  debug(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** Says what routing did. */
export interface RoutingLog {
  /** A reach was routed; the whole record stands in its history, and in the log at level debug. */
  decided(decision: Decision, reachId: string): void;
  /** Nobody could be chosen (R22): an alert of its own, distinct from failures of delivery. */
  refused(error: ReachError): void;
}

/** Log lines and the counters `agent_reach_decisions_total`, `agent_reach_explorations_total` and `agent_reach_no_candidate_total`. */
export function createRoutingLog(log: Log, registry: Registry): RoutingLog {
  const registers = [registry];
  const decisions = new Counter({
    name: 'agent_reach_decisions_total',
    help: 'Routing decisions by strategy',
    labelNames: ['strategy'],
    registers,
  });
  const explorations = new Counter({
    name: 'agent_reach_explorations_total',
    help: 'Decisions where others were near to the winner, by whether one of them was tried',
    labelNames: ['tried'],
    registers,
  });
  const refusals = new Counter({
    name: 'agent_reach_no_candidate_total',
    help: 'Requests for which no agent could be chosen, by diagnosis',
    labelNames: ['reason'],
    registers,
  });
  return {
    decided(decision, reachId) {
      const { decision_id, ability, strategy, chosen, route_reason } = decision;
      decisions.inc({ strategy });
      if (decision.exploration) explorations.inc({ tried: String(decision.explored) });
      log.info(
        { decision_id, reach_id: reachId, ability, agent: chosen.agent_name, version: chosen.agent_version },
        route_reason,
      );
      log.debug({ decision }, 'decision record');
    },
    refused(error) {
      const reason = error.options.diagnosis?.reason;
      if (reason === undefined) return;
      refusals.inc({ reason });
      log.warn({ code: error.code, reason }, `no agent: ${error.message}`);
    },
  };
}
