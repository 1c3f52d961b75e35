/**
 * The wire shapes that responses, histories and rooms share, as plain types: nothing here exists at run
 * time, so workflow code may import it. All JSON is snake_case; times are ISO 8601 in UTC, durations ms.
 */
import type { ErrorCode } from './error-codes';
import type { DeliverySummary } from './callback-target';
import type { AdmissionMark } from './reliability';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** What stands in when an ability cannot be had (R30): a fixed output, or another agent asked for the same ability. */
export type Fallback = { output: JsonObject } | { agent: string };

export type ReachStatus =
  'accepted' | 'running' | 'completed' | 'dead_lettered' | 'cancelled' | 'expired' | 'outcome_unknown';

export type TerminalStatus = Exclude<ReachStatus, 'accepted' | 'running'>;

export type DeliverySemantics = 'at_least_once' | 'at_most_once' | 'exactly_once';

/** One attempt at an agent. `received` tells a lost request from a lost answer (R33). */
export interface AttemptRecord {
  /** 1 for the first. */
  n: number;
  agent_name: string;
  agent_version: string;
  instance: string | null;
  started_at: string;
  duration_ms: number;
  received: 'no' | 'yes' | 'unknown';
  /** Absent when the attempt succeeded. */
  code?: ErrorCode;
  message?: string;
}

/** The parts of a score (R17), each 0–1, and the raw cosine behind the calibrated similarity. */
export interface ScoreFactors {
  semantic_similarity: number;
  latency_score: number;
  reliability_score: number;
}

export interface InstanceWeight {
  instance_id: string;
  weight: number;
}

/** A candidate of a decision: an agent's version that could take the call, with why it scored so. */
export interface Candidate {
  agent_name: string;
  agent_version: string;
  /** The ability matched (differs from the request only for `ability: "*"`). */
  ability: string;
  score: number;
  /** Raw cosine (or lexical overlap) before calibration; null when no text was compared. */
  cosine: number | null;
  factors: ScoreFactors;
  instances: InstanceWeight[];
}

export interface Exclusion {
  agent_name: string;
  agent_version: string;
  reason: string;
}

/** The record of one routing decision (R23). */
export interface Decision {
  decision_id: string;
  at: string;
  reach_id?: string;
  ability: string;
  version?: string;
  group: string;
  /** `fallback`: nobody could take it, and the ability's fallback stands in (R30). */
  strategy: 'score_based' | 'round_robin' | 'random' | 'rule' | 'direct' | 'fallback';
  chosen: {
    agent_name: string;
    agent_version: string;
    ability: string;
    instance?: string;
    score: number;
    /** Passed a breaker that is not closed (R28). */
    admission?: AdmissionMark;
  };
  /** 0–1: how far the winner stands out from the runner-up. */
  confidence: number;
  explored: boolean;
  /** Best first, at most {@link MAX_RECORDED_CANDIDATES} in a history. */
  candidates: Candidate[];
  excluded: Exclusion[];
  excluded_count: number;
  /** One sentence for people: why this agent. */
  route_reason: string;
}

/** Why nobody could be chosen (R22). */
export interface Diagnosis {
  reason:
    | 'name_mismatch'
    | 'agent_unknown'
    | 'not_ready'
    | 'never_registered'
    | 'message_type_not_accepted'
    | 'version_mismatch'
    | 'payload_schema_mismatch'
    | 'delegation_loop'
    | 'breaker_open'
    | 'off_topic';
  message: string;
  /** Nearest known names, nearest first, and why each is near. */
  closest?: { name: string; why: string }[];
  /** Who would fit and why each cannot take the call now. */
  agents?: { agent_name: string; agent_version: string; status: string; since: string | null; detail: string }[];
  available_versions?: string[];
}

export interface ReachLinks {
  self: string;
  events: string;
  temporal: string | null;
}

/** 202: the reach is durable and routed. */
export interface Receipt {
  reach_id: string;
  message_id: string;
  status: 'accepted' | 'running';
  stage: 'routed' | 'agent_accepted';
  agent_name: string;
  agent_version: string;
  route_reason: string;
  decision_id: string;
  accepted_at: string;
  expires_in_ms: number;
  replayed: boolean;
  trace_id: string;
  links: ReachLinks;
}

/** 200: the agent has answered. */
export interface ReachResult {
  reach_id: string;
  message_id: string;
  status: 'completed';
  ability: string;
  agent_name: string;
  agent_version: string;
  instance: string | null;
  route_reason: string;
  /** The decision's confidence, 0–1; the agent's own stays in `output`. */
  confidence: number;
  output: JsonObject;
  /** Where `output` is too large to be told: `GET /v1/payloads/{output_ref}` has it. */
  output_ref?: string;
  answer?: Json;
  degraded: boolean;
  attempts: number;
  duration_ms: number;
  replayed: boolean;
  decision_id: string;
  trace_id: string;
  /** How the callback with its end stands; only where the envelope asks for one. */
  callback?: DeliverySummary;
  /** The same of `reply_to`. */
  reply?: DeliverySummary;
}

export type AgentStatus = 'ready' | 'busy' | 'draining';
export type InstanceHealth = 'unknown' | 'passing' | 'failing';

/** One running instance as everybody sees it. `status` is the effective one: reported, load and health combined (R14). */
export interface InstanceState {
  instance_id: string;
  /** URL that push adapters call; null for agents that pull. */
  host: string | null;
  version: string;
  status: AgentStatus | 'unavailable' | 'expired';
  status_reason: string;
  since: string;
  load: number;
  in_flight: number;
  max_concurrency: number | null;
  lease_remaining_sec?: number;
  last_heartbeat?: string;
  health: InstanceHealth;
  /** Set while it is ejected for failing in a row. */
  ejected_until?: string;
  source: 'static' | 'lease';
}

/** The event behind a delivery: where it was published, by which subscription it came, and its CloudEvents attributes as text. */
export interface EventContext {
  topic: string;
  subscription_id: string;
  attributes: Record<string, string>;
}

/** What an agent is sent, whatever protocol it speaks. */
export interface AgentCall {
  message_id: string;
  reach_id: string;
  ability: string;
  type: string;
  payload: JsonObject;
  /** Set where the payload is large and not in here: who makes the call puts it in its place. */
  payload_ref?: string;
  context_id: string | null;
  idempotency_key: string;
  delivery_semantics: DeliverySemantics;
  source_agent: string;
  group: string;
  version: string;
  attempt: number;
  /**
   * Grows with every attempt and every redrive of the same reach: 19 digits, compared as text. An effect that
   * was made under a greater fence must not be overwritten by one with a smaller (exactly_once, R4).
   */
  fence: string;
  /** What this attempt may use, ms from now. */
  deadline_ms: number;
  bypass: boolean;
  /** Set when an event is delivered (R3); `payload` is its data. */
  event?: EventContext;
}

/** One step of a reach, read from the Temporal history (R33). */
export interface TraceHop {
  name: 'accept' | 'route' | 'queue' | 'invoke' | 'wait_result' | 'notify';
  started_at: string;
  duration_ms: number;
  attempt?: number;
  agent_name?: string;
  agent_version?: string;
  instance?: string | null;
  outcome: string;
  reason?: string;
  children?: string[];
}

export interface Trace {
  trace_id: string;
  reach_id: string;
  status: ReachStatus;
  started_at: string;
  duration_ms: number;
  hops: TraceHop[];
}
