import type { Envelope } from './envelope';
import type { AgentCall } from './shapes';

/** What makes one attempt's call out of an envelope. `deadlineMs` is what this attempt may use from now. */
export interface CallParts {
  envelope: Envelope;
  reachId: string;
  ability: string;
  agentVersion: string;
  attempt: number;
  /** When this run of the reach began, Unix ms: a redrive begins later. */
  runStartMs: number;
  deadlineMs: number;
  /** Marked traffic of a breaker in bypass. */
  bypass: boolean;
}

/** The call as an agent sees it, whatever protocol it speaks. */
export function agentCall({ envelope, ...parts }: CallParts): AgentCall {
  return {
    message_id: envelope.message_id,
    reach_id: parts.reachId,
    ability: parts.ability,
    type: envelope.type,
    payload: envelope.payload,
    ...(envelope.payload_ref && { payload_ref: envelope.payload_ref }),
    context_id: envelope.context_id ?? null,
    idempotency_key: envelope.idempotency_key,
    delivery_semantics: envelope.delivery_semantics,
    source_agent: envelope.source_agent,
    group: envelope.group,
    version: parts.agentVersion,
    attempt: parts.attempt,
    fence: fenceOf(parts.runStartMs, parts.attempt),
    deadline_ms: Math.max(1, Math.floor(parts.deadlineMs)),
    bypass: parts.bypass,
    ...(envelope.event && { event: envelope.event }),
  };
}

/**
 * A fencing token (Kleppmann, "How to do distributed locking", 2016): grows with every attempt of a run, and with every
 * run, since a reset run begins later on the server's clock. Of fixed width, so that it compares as text.
 */
export function fenceOf(runStartMs: number, attempt: number): string {
  return `${Math.floor(runStartMs)}`.padStart(13, '0') + `${attempt}`.padStart(6, '0');
}
