import type { Capability, Descriptor, Endpoint } from './descriptor';
import { DEFAULT_MAX_RETRY } from './limits';
import type { Fallback } from './shapes';
import { agentTaskQueue } from './worker-wire';

/** What a reach must know of the chosen agent to call it; taken from its descriptor when it is routed. */
export interface RoutedTarget {
  protocol: Endpoint['protocol'];
  /** Pull agents only. */
  task_queue: string | null;
  /** The capability's timeout, else the endpoint's, else the platform's default (`adapter.protocol_timeout_ms`); ms. */
  timeout_ms: number;
  max_retry: number;
  idempotent: boolean | null;
  /** How long an agent that accepted may give no sign before the message is delivered again (R5), ms. */
  ack_timeout_ms?: number;
  /** What stands in when the ability cannot be had (R30). */
  fallback?: Fallback;
}

/** The capability of a descriptor by its exact name. */
export function capabilityOf(descriptor: Descriptor, ability: string): Capability | undefined {
  return descriptor.capabilities.find((capability) => capability.name === ability);
}

/** Reads the target out of a descriptor. Agents without an endpoint are reached through their instances over HTTP. */
export function routedTarget(descriptor: Descriptor, ability: string, protocolTimeoutMs: number): RoutedTarget {
  const { endpoint, name, version } = descriptor;
  const capability = capabilityOf(descriptor, ability);
  const protocol = endpoint?.protocol ?? 'http';
  const fallback = fallbackOf(capability);
  return {
    protocol,
    task_queue: protocol === 'worker' ? agentTaskQueue({ name, version, taskQueue: endpoint?.task_queue }) : null,
    timeout_ms: capability?.timeout_ms ?? endpoint?.timeout_ms ?? protocolTimeoutMs,
    max_retry: endpoint?.max_retry ?? DEFAULT_MAX_RETRY,
    idempotent: capability?.idempotent ?? null,
    ...(endpoint?.ack_timeout_ms !== undefined && { ack_timeout_ms: endpoint.ack_timeout_ms }),
    ...(fallback && { fallback }),
  };
}

/** A text or `{agent}` names an agent, an object is the output itself, any other value is its `answer`. */
export function fallbackOf(capability: Pick<Capability, 'fallback'> | undefined): Fallback | undefined {
  const value = capability?.fallback;
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return { agent: value };
  if (typeof value !== 'object' || Array.isArray(value)) return { output: { answer: value } };
  const { agent } = value;
  return typeof agent === 'string' && Object.keys(value).length === 1 ? { agent } : { output: value };
}
