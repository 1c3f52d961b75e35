import type { Descriptor, Endpoint } from '../protocol/descriptor';
import type { AgentCall, InstanceState, JsonObject } from '../protocol/shapes';

/** Where and how to call: one instance of one agent's version. */
export interface AdapterTarget {
  descriptor: Descriptor;
  instance: InstanceState;
}

/** What surrounds one call: limits, credentials scoped to it, and how it is stopped. */
export interface AdapterContext {
  /** Aborted on cancellation of the reach or shutdown; the adapter stops at once. */
  signal: AbortSignal;
  /** Total time for this attempt, ms, from connecting to the last byte. */
  budgetMs: number;
  /** Largest answer accepted, bytes. */
  maxResponseBytes: number;
  /** A large payload, which takes the place of the call's empty one; never read, only sent on. */
  payload?: { bytes: number; stream: () => Promise<AsyncIterable<Uint8Array>> };
  /** Answers over this size may be handed over unread, bytes. Default: none. */
  unreadAboveBytes?: number;
  /** W3C trace context for the agent. */
  traceparent: string;
  /** Lets the agent deliver a late result for this attempt, and nothing else. */
  reachToken: string;
  /** Told which instance works on the call, where the agent's instances decide that among themselves. */
  takenBy?: (instanceId: string) => void;
}

/** What an agent said. A failure is thrown as a ReachError whose `received` says how far the request got. */
export type AdapterAnswer =
  /** `bytes`: length of the text that it was read from, where there was one. */
  | { kind: 'answer'; output: JsonObject; bytes?: number }
  /** What should be a JSON object, and was not looked at. */
  | { kind: 'unread'; content: Buffer }
  /** Uploaded to the gateway by the agent, who says where. */
  | { kind: 'uploaded'; ref: string }
  | { kind: 'accepted' };

/**
 * Speaks one agent protocol (R37). Adapters translate and classify; they never retry, never choose an
 * instance and never validate against the ability's schemas.
 */
export interface Adapter {
  readonly protocol: Endpoint['protocol'];
  /** @throws ReachError with a code of the adapter's own wire table */
  invoke(call: AgentCall, target: AdapterTarget, context: AdapterContext): Promise<AdapterAnswer>;
  close(): Promise<void>;
}
