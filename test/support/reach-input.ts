import type { Envelope } from '../../src/protocol/envelope';
import type { Decision } from '../../src/protocol/shapes';
import type { ReachInput, Routed } from '../../workflows/messages';

/** A decision for `agent`, complete enough for the workflow. */
export function decisionFor(agent: string, more: Partial<Decision> = {}): Decision {
  return {
    decision_id: `d-${agent}`,
    at: '2026-01-01T00:00:00.000Z',
    ability: 'echo',
    group: 'default',
    strategy: 'score_based',
    chosen: { agent_name: agent, agent_version: '1.0.0', ability: 'echo', score: 0.9 },
    confidence: 1,
    explored: false,
    candidates: [],
    excluded: [],
    excluded_count: 0,
    route_reason: `${agent} is the only one`,
    ...more,
  };
}

/** A routed decision for an HTTP agent; `target` overrides its limits. */
export function routedTo(agent: string, target: Partial<Routed['target']> = {}): Routed {
  return {
    decision: decisionFor(agent),
    target: { protocol: 'http', task_queue: null, timeout_ms: 5_000, max_retry: 3, idempotent: null, ...target },
    ready: true,
  };
}

/** A reach's input with everything at its default. */
export function reachInput(
  more: { envelope?: Partial<Envelope>; routed?: Routed; callerWaits?: boolean } = {},
): ReachInput {
  const envelope = {
    ability: 'echo',
    payload: { text: 'hello' },
    type: 'task',
    mode: 'sync',
    delivery_semantics: 'at_least_once',
    group: 'default',
    max_total_retries: 10,
    metadata: {},
    timeout_ms: 10_000,
    idempotency_key: 'key',
    key_origin: 'caller',
    source_agent: 'test',
    message_id: 'm-1',
    ...more.envelope,
  } as Envelope;
  return {
    tenant: 'default',
    envelope,
    routed: more.routed ?? routedTo('echo_agent'),
    caller_waits: more.callerWaits ?? false,
    trace_id: '0af7651916cd43dd8448eb211c80319c',
    fingerprint: 'f',
  };
}
