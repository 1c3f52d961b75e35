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

/**
 * What chance did in a scored choice (R17): one number decides all of it. Let p = 1 − `router.exploration.rate`. The choice
 * explores if `draw` ≥ p; u is where the draw falls within its part of [0, 1), that is (draw − p) / (1 − p) or draw / p. Of
 * the agents with the best score (of those that pass a breaker by a mark, if any do), by name, the one at ⌊u · tied⌋ is the
 * winner. It takes the call, or, exploring, of the `among` others within the band, by name, the one at ⌊v · among⌋ does, v
 * being the fraction of u · tied. `routing/exploration.ts` is the rule in code.
 */
export interface ExplorationRecord {
  /** In [0, 1). */
  draw: number;
  /** How many other agents were within the band and might be tried. */
  among: number;
}

/** How a version was chosen (R21); from it `chooseVersion` recomputes the choice, also under another table. */
export interface VersioningRecord {
  /** Caller group, matched exactly. */
  group: string;
  /** Of the sticky key, with the agent's name: the same key stays with the same version. Absent where chance decided. */
  key_hash?: string;
  /** In [0, 1): what chance said where there is no sticky key. */
  draw?: number;
  /** Of the route table it was chosen by. */
  table_etag?: string;
  /** What routes said of the agent's versions for this ability and group; empty: nothing. */
  listed: { version: string; weight: number }[];
  /** Versions that fit the request, in the order in which they were first registered; `usable`: could take it then. */
  candidates?: { version: string; usable: boolean }[];
  /** The version that bore the most before its routes were taken out. */
  stable?: string;
  /** The caller named a range, so the highest wins where no route lists any. */
  ranged?: true;
  /** Share of this version among those that were usable, 0–1. */
  share: number;
  /** See `VersionReason` of the router. */
  reason: string;
  /** The version that would have taken it, had it been usable. */
  instead_of?: string;
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
  /** 0–1: how far the winner stands out from the runner-up; of an open match (`*`) no more than its ability's own confidence. */
  confidence: number;
  /** One of the others within the band was tried instead of the winner (R17). */
  explored: boolean;
  /** Present where chance had a say in a scored choice; with the scores, the rate and the band the choice recomputes. */
  exploration?: ExplorationRecord;
  /** Present where the agent has several versions, or routes list its versions (R21). */
  versioning?: VersioningRecord;
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
    | 'already_tried'
    | 'overloaded'
    | 'degraded_mode'
    | 'no_route'
    | 'off_topic'
    | 'ambiguous';
  message: string;
  /** What to do about it, one sentence. */
  advice?: string;
  /** When the same request may work, ms; absent where it will not without a change. */
  retry_after_ms?: number;
  /** What keeps whom, nearest to success first; counts are of versions of agents. */
  causes?: DiagnosisCause[];
  /** Nearest known names, nearest first, and why each is near. */
  closest?: { name: string; why: string }[];
  /** Who would fit and why each cannot take the call now, nearest to success first; at most ten. */
  agents?: DiagnosedAgent[];
  available_versions?: string[];
  /** Of an open match that found nothing: what is nearest in meaning, best first, at most ten. */
  candidates?: NearAbility[];
}

/** An ability of an agent as a search by meaning finds it. */
export interface NearAbility {
  ability: string;
  agent_name: string;
  agent_version: string;
  /** 0–1: how well it fits the text on its own; under 0.5 is off topic. */
  score: number;
  /** 0–1: how sure it is that this one is meant; low when it is off topic or one of several alike. */
  confidence: number;
}

/** One thing that keeps agents from taking a call, such as `busy`, `breaker_open` or `version_mismatch`. */
export interface DiagnosisCause {
  cause: string;
  count: number;
  /** For people: `1 is busy`. */
  message: string;
}

/** An agent that cannot take a call. */
export interface DiagnosedAgent {
  agent_name: string;
  agent_version: string;
  /** Of the agent, or of its breaker where that holds it back. */
  status: string;
  since: string | null;
  detail: string;
  /** As in {@link DiagnosisCause}. */
  cause?: string;
  /** Who says so: `the agent`, `its health check`, `its breaker`, an operator's name. */
  by?: string;
  /** When that may have changed, ms; absent where nobody knows. */
  retry_after_ms?: number;
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
  /** When half of such reaches are over, ms from `accepted_at`; absent where too little was measured. */
  eta_ms?: number;
  /** When 95 % of them are. */
  eta_p95_ms?: number;
  /** What the caller should know although it was accepted. */
  warnings?: ReceiptWarning[];
}

/** `deadline_at_risk`: queue and service times say that it is more likely late than not (R25). */
export interface ReceiptWarning {
  code: 'deadline_at_risk';
  message: string;
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
  /** Busy with calls of this platform alone: the next that ends makes room, so a call may queue for it. Absent otherwise. */
  full_by_count?: true;
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
