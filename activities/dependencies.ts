import type { Adapter } from '../src/adapters';
import type { ErrorCode } from '../src/protocol/error-codes';
import type { Envelope } from '../src/protocol/envelope';
import type { Lineage, TreeBudget } from '../src/protocol/lineage';
import type { AdmissionMark, BreakerKey, BreakerOutcome, BreakerTicket } from '../src/protocol/reliability';
import type { AgentVersion, World } from '../src/protocol/world';
import type { Payloads } from '../src/payloads';
import type { Router } from '../src/routing';
import type { ReachError } from '../src/protocol/reach-error';
import type { ReachTokens } from '../src/protocol/reach-token';
import type { Routed } from '../workflows/messages';
import type { DeliverOutput } from '../workflows/publish-messages';
import type { FastLane } from './fast-lane';

/** Whom a call goes to. */
export interface CallKey {
  agentName: string;
  agentVersion: string;
  ability: string;
  instanceId: string | null;
}

/** One measured call, as the shared statistics count it. `neutral`: the caller's fault, not held against the agent. */
export interface CallSample extends CallKey {
  durationMs: number;
  outcome: 'ok' | 'failure' | 'neutral';
  /** Why it failed. */
  code?: ErrorCode;
}

/** Circuit breakers (R28) as an attempt meets them. */
export interface Breakers {
  /** Leave to call. @throws ReachError `circuit_open` */
  enter(
    key: BreakerKey,
    admission: { mark: AdmissionMark | null; retry: boolean; budgetMs: number },
  ): Promise<BreakerTicket>;
  report(key: BreakerKey, ticket: BreakerTicket, outcome: BreakerOutcome, durationMs: number): void;
}

/** This worker's shares of the limits on calls at once (R29). */
export interface Bulkheads {
  /** Resolves to what gives the permit back. @throws ReachError `overloaded`; the signal's reason */
  enter(request: {
    key: string;
    limit: number;
    patienceMs: number;
    signal: AbortSignal;
    /** Reach id: one who comes back after a refusal counts once. */
    caller: string;
    /** Limits of their own, one of which its holder enters next. */
    places?: readonly { key: string; limit: number }[];
    /** Calls under way there in all processes. */
    inFlight?: () => number;
  }): Promise<() => void>;
  isFull(key: string, limit: number): boolean;
  /** How long a durable caller that was turned away should stay away, ms. */
  retryDelayMs(key: string, limit: number): number;
  /** Counts one who waits without having asked for a permit, and answers the same. */
  turnAway(request: { key: string; limit: number; caller: string }): number;
  /** One that an agent or one of its instances turned away will not come back. */
  left?(agent: string, caller: string): void;
}

/** Slots of concurrent retries, per agent and platform-wide (R27). */
export interface RetryPermits {
  acquire(request: { agentName: string; holder: string; ttlMs: number }): Promise<{ slot: number } | null>;
  renew(request: { agentName: string; slot: number; holder: string; ttlMs: number }): Promise<{ slot: number } | null>;
  release(request: { agentName: string; slot: number; holder: string }): Promise<void>;
  /** Gives back what a holder has at any agent. */
  releaseAll(holder: string): Promise<void>;
}

/** Trees of nested reaches (R10, R27). */
export interface ReachTrees {
  /** Counts a retry against its tree; false when the tree has made as many as it may. */
  takeRetry(retry: { tree: TreeBudget; id: string[]; ttlMs: number }): Promise<boolean>;
  /** The last sign of an agent that accepted; null while it gave none. @throws ReachError `engine_unavailable` */
  lastSign(attempt: { reachId: string; runId: string; attempt: number }): Promise<string | null>;
  /** @throws ReachError `engine_unavailable` */
  children(parent: string): Promise<{ reachId: string }[]>;
}

/** A reach that is to be started for nobody who waits. */
export interface PlannedReach {
  id: string;
  envelope: Envelope;
  routed: Routed;
  /** Digest of the envelope. */
  digest: string;
  lineage?: Lineage;
}

/** What the activities work with; the composition root brings it. */
export interface ActivityDependencies {
  router: Pick<Router, 'route' | 'stillGood' | 'pickInstance'>;
  world: () => World;
  /** Whether etcd does not answer now, so that other processes know nothing of what is decided here. */
  isCutOff: () => boolean;
  adapters: ReadonlyMap<Adapter['protocol'], Adapter>;
  recordCall: (sample: CallSample) => void;
  /** Counts a call as in flight until the answer is called (R14: a full instance is busy, whatever it reports). */
  startCall?: (key: CallKey) => () => void;
  /** Notes an attempt as under way in this process until the answer is called; `signal` stops it. */
  callsUnderWay?: { begin(call: { runId: string; attempt: number }, signal: AbortSignal): () => void };
  breakers: Breakers;
  bulkheads: Bulkheads;
  retryPermits: RetryPermits;
  tree: ReachTrees;
  /** Asks a reach to end. `unknown`: there is none; `failed`: nobody could be asked. Never throws. */
  cancelReach: (reachId: string) => Promise<'cancelling' | 'over' | 'unknown' | 'failed'>;
  /** Starts a reach; false when it was started before. @throws ReachError `engine_unavailable` when Temporal does not take it */
  startReach: (plan: PlannedReach, traceId: string) => Promise<boolean>;
  /** Says that nobody could be chosen for what was accepted (R22). Never throws. */
  reportRefusal: (refusal: ReachError) => void;
  /** Says what came of a batch of an event's deliveries. */
  reportDeliveries: (batch: DeliverOutput) => void;
  /** Counts a call for the ejection of an instance that fails in a row. */
  reportInstance: (call: { agentName: string; agentVersion: string; instanceId: string; failed: boolean }) => void;
  /** How many calls an agent may have at once on the whole platform (R29). */
  limitOf: (agent: AgentVersion) => number;
  fastLane: FastLane;
  /** How long a caller that waits may stand in a bulkhead's queue, ms. */
  queueWaitMs: number;
  tokens: ReachTokens;
  /** Large payloads and answers (R8). */
  payloads: Pick<Payloads, 'load' | 'source' | 'keepOutput' | 'keepAnswer' | 'claimUploaded'>;
  /** `adapter.protocol_timeout_ms` */
  protocolTimeoutMs: number;
  maxResponseBytes: number;
  /** In [0, 1); injected for tests. */
  random: () => number;
}

/** Finds one version of an agent in the registry's view. */
export function findAgent(world: World, name: string, version: string): AgentVersion | undefined {
  return world.agents.find((agent) => agent.name === name && agent.version === version);
}
