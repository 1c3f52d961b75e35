/**
 * What passes between the `reach` workflow and an agent that runs as a Temporal activity worker (R37): the
 * names, the input, the answer and the failure. No run-time dependency, so workflow code may import it.
 *
 * **Failures.** The agent's activity throws an `ApplicationFailure` whose `type` is an error code of the one
 * table (`agent_rejected`, `agent_error`, `agent_busy`, `agent_timeout`, `agent_unavailable`, …), whose
 * `nonRetryable` is set for every code the table does not call transient. `details[0]` is a
 * {@link WorkerFailureDetail}; it also says when to ask again, beside the failure's own `nextRetryDelay`, which the
 * TypeScript SDK does not hand to workflow code. Neither cause nor stack leaves the agent's process. The workflow
 * schedules each attempt as an activity of its own (`maximumAttempts: 1`) and does the retrying. An attempt that
 * was cancelled ends as Temporal's `CancelledFailure`. Heartbeats carry a `WorkerFailureDetail` too, the first at
 * once, so a timeout's `lastHeartbeatDetails` prove that the call had arrived.
 */
import type { AgentCall, JsonObject } from './shapes';

/** The activity type that every agent worker offers. */
export const AGENT_ACTIVITY = 'invoke';

/**
 * The task queue an agent's worker polls: the descriptor's `endpoint.task_queue`, else
 * `agent-reach.NAME@VERSION`, so that versions never take each other's work.
 */
export function agentTaskQueue(agent: { name: string; version: string; taskQueue?: string }): string {
  return agent.taskQueue ?? `agent-reach.${agent.name}@${agent.version}`;
}

/**
 * The activity's only argument: what every agent is sent, and the W3C trace context of the attempt. A large payload is
 * absent: the agent gets it from the gateway, `GET /v1/payloads/{payload_ref}`.
 */
export type WorkerCall = Omit<AgentCall, 'payload'> & { payload?: JsonObject; traceparent: string };

/** What the activity returns. */
export interface WorkerAnswer {
  /** The agent's whole answer; empty where `output_ref` has it. */
  output: JsonObject;
  /** A large answer, uploaded in chunks. */
  output_ref?: string;
  /** The instance that answered. */
  instance: string;
  /** When the agent took the call up, ISO 8601; tells a lost request from a lost answer (R33). */
  received_at: string;
}

/** `details[0]` of a failed attempt, and the details of every heartbeat. */
export interface WorkerFailureDetail extends Pick<WorkerAnswer, 'instance' | 'received_at'> {
  /** When the handler asked for another attempt not before then, ms. */
  retry_after_ms?: number;
}
