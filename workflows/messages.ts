/**
 * What crosses the border of the `reach` workflow: its input, its result, its signal and its update, and the
 * contract of the activities it calls. Types and plain constants only, so that the gateway may import it.
 */
import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ErrorCode } from '../src/protocol/error-codes';
import type { Envelope } from '../src/protocol/envelope';
import type { Lineage, TreeBudget } from '../src/protocol/lineage';
import type { OutputClaim } from '../src/protocol/payload-ref';
import type { Problem } from '../src/protocol/reach-error';
import type { RoutedTarget } from '../src/protocol/routed-target';
import type { AdmissionMark, BreakerTicket } from '../src/protocol/reliability';
import type { AttemptRecord, Decision, DeliverySemantics, JsonObject, TerminalStatus } from '../src/protocol/shapes';

export * from './delivery-messages';

/** Workflow type, as the Temporal Web UI shows it. */
export const REACH_WORKFLOW = 'reach';

/** A decision with what is needed to act on it. `ready` is false only for async reaches that must wait for an agent. */
export interface Routed {
  decision: Decision;
  target: RoutedTarget;
  ready: boolean;
  /** Nobody could take it, and the ability's fallback stands in (R30): an agent was chosen for it, or the output is fixed. */
  stand_in?: StandIn;
}

/** Why a fallback stands in, and its output where that is fixed. */
export interface StandIn {
  because: ErrorCode;
  output?: JsonObject;
}

export interface ReachInput {
  tenant: string;
  envelope: Envelope;
  routed: Routed;
  /** The caller holds a connection: the fast path is worth it. */
  caller_waits: boolean;
  trace_id: string;
  /** Digest of the envelope; the same key with another digest is refused. */
  fingerprint: string;
  /** Set when another reach's agent made this one (R10). */
  lineage?: Lineage;
}

/** What a completed reach returns; the gateway adds what depends on who asks (`replayed`). */
export interface ReachOutput {
  status: 'completed';
  agent_name: string;
  agent_version: string;
  instance: string | null;
  route_reason: string;
  confidence: number;
  decision_id: string;
  /** Empty where it is kept under `output_claim`. */
  output: JsonObject;
  output_claim?: OutputClaim;
  attempts: AttemptRecord[];
  duration_ms: number;
  /** A fallback answered (R30), because of this code. Absent: the agent itself. */
  degraded_by?: ErrorCode;
}

/** Details of the ApplicationFailure with which a reach ends that was not completed; `type` is the problem's code. */
export interface ReachFailure {
  status: Exclude<TerminalStatus, 'completed' | 'cancelled'>;
  problem: Problem;
  attempts: AttemptRecord[];
}

/** The kept facts of a reach: enough to answer a GET without reading its history. */
export interface ReachMemo extends Record<string, unknown> {
  fingerprint: string;
  message_id: string;
  ability: string;
  source_agent: string;
  timeout_ms: number;
  trace_id: string;
  decision_id: string;
  agent_name: string;
  agent_version: string;
  route_reason: string;
  /** Set when another reach's agent made this one (R10). */
  lineage?: Lineage;
  /** `max_total_retries` where it is not the default: what reaches made from here share (R27). */
  max_total_retries?: number;
  /** Who is told of its end, where somebody is (R5). */
  notify?: ('callback' | 'reply')[];
  /** Set once the agent has acknowledged. */
  stage?: 'agent_accepted';
  /** The attempt whose result is waited for since. */
  accepted_attempt?: number;
  /** Set where the envelope names them: what reaches made from here inherit. */
  context_id?: string;
  group?: string;
  /** Attempts of a reach that was cancelled. */
  attempts?: AttemptRecord[];
}

/** An agent's late result for the attempt that it answered with "accepted". */
export interface LateResult {
  run_id: string;
  attempt: number;
  result: { output: JsonObject; output_claim?: OutputClaim } | { error: { code: ErrorCode; message: string } };
}

/** Delivers an agent's late result; one that matches no open attempt is ignored. */
export const resultSignal = defineSignal<[LateResult]>('result');

/** The facts of acceptance, as the `accepted` update returns them. */
export interface Acceptance {
  fingerprint: string;
  /** Decision of the request that started the run: a repeat sees another one than its own. */
  request_id: string;
  stage: 'routed' | 'agent_accepted';
  agent_name: string;
  agent_version: string;
  route_reason: string;
  decision_id: string;
}

/** Completes as soon as the reach is durable and routed. One fixed update id: {@link ACCEPTED_UPDATE_ID}. */
export const acceptedUpdate = defineUpdate<Acceptance, []>('accepted');
export const ACCEPTED_UPDATE_ID = 'accepted';

export interface RouteInput {
  tenant: string;
  envelope: Envelope;
  /** The decision that stands if it still can; null to decide anew. */
  proposed: Routed | null;
  /** `name#version` of agents that were tried in vain. */
  exclude: string[];
  /** `agent/ability` of the calls above, which may not be asked again (R10). */
  chain?: string[];
  /** Moving on to another agent is a retry of the tree: the reach's id, and what the tree may still make. */
  moving?: { reach_id: string; tree: TreeBudget };
}

/**
 * `stands`: the proposed decision was confirmed; otherwise the new one. `ticket`: leave to pass the breaker, for agents
 * that pull, whose call no activity of ours makes.
 */
export type RouteOutput = ({ stands: true } | { stands: false; routed: Routed }) & { ticket?: BreakerTicket };

export interface FastPathInput extends RouteInput {
  /** What is left of the whole reach when the activity is scheduled, ms. */
  share_ms: number;
  trace_id: string;
  /** When this run began, Unix ms. */
  run_start_ms?: number;
  lineage?: Lineage;
  tree?: TreeBudget;
}

/**
 * `routed`: the new decision where the proposed one did not stand. `outcome` is null when that one must be called regularly.
 * `ticket`: leave to pass the breaker, where the one to be called pulls.
 */
export interface FastPathOutput {
  routed: Routed | null;
  outcome: InvokeOutcome | null;
  ticket?: BreakerTicket;
}

export interface InvokeInput {
  tenant: string;
  envelope: Envelope;
  decision_id: string;
  agent_name: string;
  agent_version: string;
  ability: string;
  /** What is left of the whole reach when the activity is scheduled, ms. */
  share_ms: number;
  timeout_ms: number;
  /** Retries this activity may make on its own, beyond its first attempt. */
  retries: number;
  idempotent: boolean | null;
  /** Attempts already made at any agent; numbering goes on from here. */
  attempts_before: number;
  /** The decision is the gateway's: see that it still stands before the first attempt. */
  confirm: boolean;
  trace_id: string;
  /** When this run began, Unix ms; makes the fence. Absent in histories of 0.1. */
  run_start_ms?: number;
  /** The mark with which the router let it pass a breaker that is not closed. */
  admission?: AdmissionMark;
  /** The first execution is a retry itself: its slot of the concurrent retries, null when it is still to take one. */
  permit?: number | null;
  /** Set when another reach's agent made this one (R10). */
  lineage?: Lineage;
  /** What the tree of this reach may still retry (R27). Absent in histories of 0.1. */
  tree?: TreeBudget;
}

/** What came of calling an agent. Failures carry every attempt made. */
export type InvokeOutcome =
  | {
      kind: 'answer';
      output: JsonObject;
      output_claim?: OutputClaim;
      instance: string | null;
      attempts: AttemptRecord[];
    }
  | { kind: 'accepted'; instance: string | null; attempts: AttemptRecord[] }
  | InvokeFailure;

/** The decision that was to be confirmed no longer stands; nobody was called. */
export interface Stale {
  kind: 'stale';
}

export interface InvokeFailure {
  kind: 'failed';
  problem: Problem;
  received: 'no' | 'yes' | 'unknown';
  /** The instance that failed, where only the failure knows it (pull agents). */
  instance?: string;
  /** An agent's own worker did not survive the attempt: passing, until it has been so as often as it may be tried (W08). */
  lost?: true;
  attempts: AttemptRecord[];
  /** What comes next where an activity has decided it: a retry, whose slot is held, or none (null). */
  next?: RetryGrant | null;
}

/** Leave to try the same agent again after `delay_ms`, with a slot of its concurrent retries (R27). */
export interface RetryGrant {
  delay_ms: number;
  /** Null after a long wait: the slot is taken then. */
  permit: number | null;
  /** Leave to pass the breaker once more, for agents that pull. */
  ticket?: BreakerTicket;
}

/** The activities a worker offers to `reach`. */
export interface ReachActivities {
  /** Confirms the gateway's decision or decides anew. @throws ApplicationFailure with the code when nobody fits */
  route(input: RouteInput): Promise<RouteOutput>;
  /** The fast path: `route` and one attempt in one. @throws ApplicationFailure with the code when nobody fits */
  routeAndInvoke(input: FastPathInput): Promise<FastPathOutput>;
  /** Attempts with retries by the activity's RetryPolicy. @throws ApplicationFailure with an {@link InvokeFailure} as detail */
  invoke(input: InvokeInput): Promise<InvokeOutcome | Stale>;
  /** Checks a pull agent's answer against its output schema and counts it. */
  settle(input: SettleInput): Promise<InvokeOutcome>;
  /** Completes when an agent that accepted has given no sign for its `ack_timeout_ms` (R5). */
  awaitSilence(input: SilenceInput): Promise<void>;
  /** Cancels the reaches that were made by the agents of a cancelled one (R10). */
  endChildren(input: { tenant: string; reach_id: string }): Promise<void>;
  /** Completes when an agent is ready for an async reach; with leave to pass its breaker where it pulls. */
  awaitReady(input: RouteInput): Promise<Routed & { ticket?: BreakerTicket }>;
}

/** The attempt of a run that an agent accepted. */
export interface SilenceInput {
  reach_id: string;
  run_id: string;
  attempt: number;
  ack_timeout_ms: number;
}

export interface SettleInput {
  agent_name: string;
  agent_version: string;
  ability: string;
  outcome: InvokeOutcome;
  /** What a retry depends on. Absent in histories of 0.1, whose workflow decided by itself. */
  retrying?: RetryTerms;
  ticket?: BreakerTicket;
}

/** What the decision about another attempt depends on, besides the failure. */
export interface RetryTerms {
  reach_id: string;
  semantics: DeliverySemantics;
  idempotent: boolean | null;
  /** Retries that the agent may still get, the one in question included. */
  retries_left: number;
  /** What is left of the reach, ms. */
  left_ms: number;
  /** Number of the retry in question, 1 for the first; sets the backoff. */
  retry: number;
  /** What the retry itself may use, ms. */
  attempt_ms: number;
  /** Number of the attempt that failed. Absent in histories of 0.1. */
  failed_attempt?: number;
  /** Slot of the concurrent retries that the failed attempt held. */
  permit: number | null;
  /** What the tree of this reach may still retry (R27). Absent in histories of 0.1. */
  tree?: TreeBudget;
}
