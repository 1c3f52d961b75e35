import type { Envelope } from './envelope';
import type { AgentCall } from './shapes';

/** What makes one attempt's call out of an envelope. `deadlineMs` is what this attempt may use from now. */
export interface CallParts {
  envelope: Envelope;
  reachId: string;
  ability: string;
  agentVersion: string;
  attempt: number;
  deadlineMs: number;
}

/** The call as an agent sees it, whatever protocol it speaks. */
export function agentCall({ envelope, ...parts }: CallParts): AgentCall {
  return {
    message_id: envelope.message_id,
    reach_id: parts.reachId,
    ability: parts.ability,
    type: envelope.type,
    payload: envelope.payload as AgentCall['payload'],
    context_id: envelope.context_id ?? null,
    idempotency_key: envelope.idempotency_key,
    delivery_semantics: envelope.delivery_semantics,
    source_agent: envelope.source_agent,
    group: envelope.group,
    version: parts.agentVersion,
    attempt: parts.attempt,
    deadline_ms: Math.max(1, Math.floor(parts.deadlineMs)),
    bypass: false,
  };
}
