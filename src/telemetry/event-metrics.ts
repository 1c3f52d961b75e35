import { Counter, type Registry } from 'prom-client';
import type { ErrorCode } from '../protocol/error-codes';

/** A delivery of an event that did not simply get its reach. */
interface Trouble {
  subscription: string;
  reach_id: string;
  code: ErrorCode;
}

/** Says what became of events (R3). */
export interface EventLog {
  /** An event was accepted, or was one that had been accepted before. */
  published(outcome: 'accepted' | 'repeated'): void;
  /**
   * A batch of deliveries was started. Those for which nobody was found raise an alert of their own (R22), those that could not
   * be started another.
   */
  delivered(batch: { started: number; unrouted: readonly Trouble[]; failed: readonly Trouble[] }): void;
}

interface Log {
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Log lines, `agent_reach_events_published_total` and `agent_reach_event_deliveries_total`. */
export function createEventLog(log: Log, registry: Registry): EventLog {
  const registers = [registry];
  const published = new Counter({
    name: 'agent_reach_events_published_total',
    help: 'Events posted to this gateway: accepted, or repeated and not delivered again',
    labelNames: ['outcome'],
    registers,
  });
  const deliveries = new Counter({
    name: 'agent_reach_event_deliveries_total',
    help: 'Deliveries of events that this process has begun: routed, unrouted (nobody was found) or failed (not begun)',
    labelNames: ['outcome'],
    registers,
  });
  return {
    published: (outcome) => published.inc({ outcome }),
    delivered({ started, unrouted, failed }) {
      deliveries.inc({ outcome: 'routed' }, started - unrouted.length);
      deliveries.inc({ outcome: 'unrouted' }, unrouted.length);
      deliveries.inc({ outcome: 'failed' }, failed.length);
      for (const { subscription, reach_id, code } of unrouted)
        log.warn({ code, subscription, reach_id }, `no agent for an event of subscription ${subscription}`);
      for (const { subscription, reach_id, code } of failed)
        log.error({ code, subscription, reach_id }, `an event was not delivered by subscription ${subscription}`);
    },
  };
}
