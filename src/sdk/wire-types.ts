/** What the gateway answers, as the client hands it out: snake_case, ISO times, durations in ms. */
import type { DeliverySummary } from '../protocol/callback-target';
import type { Descriptor } from '../protocol/descriptor';
import type { ErrorCode } from '../protocol/error-codes';
import type { FieldError, Problem } from '../protocol/reach-error';
import type {
  AttemptRecord,
  Candidate,
  Decision,
  Diagnosis,
  Exclusion,
  InstanceState,
  JsonObject,
  ReachResult as WireResult,
  ReachStatus,
  Receipt,
  ScoreFactors,
  VersioningRecord,
} from '../protocol/shapes';
import type { AbilityStats } from '../protocol/world';

/** An agent's answer with its output typed by the caller: `ReachResult<{ label: string }>`. */
export interface ReachResult<T = JsonObject> extends Omit<WireResult, 'output'> {
  /** The agent's whole answer. The type is the caller's claim; the agent's `output_schema` is what was checked. */
  output: T;
}

/** A reach that has no answer: not yet, or never. */
export interface UnansweredView extends Omit<Receipt, 'status' | 'expires_in_ms'> {
  status: Exclude<ReachStatus, 'completed'>;
  ability: string;
  attempts: AttemptRecord[];
  /** Why it ended without an answer. */
  error?: Problem;
  ended_at?: string;
  /** How the callback with its end stands; only where the envelope asks for one. */
  callback?: DeliverySummary;
  /** The same of `reply_to`. */
  reply?: DeliverySummary;
}

/** `GET /v1/reaches/{id}`: the result once it is `completed`, else what is known so far. */
export type ReachView = WireResult | UnansweredView;

/** The answer to a cancellation: it is under way. */
export interface Cancelling {
  reach_id: string;
  status: ReachStatus;
}

/** One row of `GET /v1/reaches`. */
export interface ReachSummary {
  reach_id: string;
  status: ReachStatus;
  ability: string | null;
  agent_name: string | null;
  agent_version: string | null;
  source_agent: string | null;
  accepted_at: string;
  ended_at: string | null;
  duration_ms: number | null;
}

/** A page of a list. `next_cursor` is absent on the last one. */
export interface Page<T> {
  items: T[];
  next_cursor?: string;
}

/** One version of an agent. */
export interface AgentVersionView {
  version: string;
  descriptor: Descriptor;
  registered_at: string;
}

/** One ability of an agent's version, with its measured behaviour and the state of its breaker where there is one. */
export interface AgentAbilityView {
  name: string;
  agent_version?: string;
  description?: string;
  breaker?: { state: string; since: string; error_rate: number; reason?: string };
  stats: AbilityStats | null;
}

/** `GET /v1/agents/{name}`: everything known about an agent. */
export interface AgentView {
  name: string;
  versions: AgentVersionView[];
  instances: InstanceState[];
  abilities: AgentAbilityView[];
  stats: {
    p50_ms: number | null;
    p95_ms: number | null;
    p99_ms: number | null;
    failure_rate: number | null;
    in_flight: number;
    queue_depth: number | null;
    requests: number;
  };
  status: InstanceState['status'];
}

/** `POST /v1/agents`: what was registered, and what the platform thinks of it. */
export interface RegistrationView {
  name: string;
  version: string;
  /** `created`, `unchanged` or `replaced`. */
  outcome: string;
  dry_run: boolean;
  registered_at: string | null;
  warnings: string[];
}

/** One ability of the catalogue and who offers it. */
export interface AbilityView {
  name: string;
  description: string;
  agents: {
    agent_name: string;
    agent_version: string;
    status: InstanceState['status'];
    description: string;
    /** Only where one ability was asked for. */
    input_schema?: JsonObject | boolean;
    output_schema?: JsonObject | boolean;
  }[];
}

/** One hit of `POST /v1/abilities:search`. Scores are 0–1; under 0.5 is off topic. */
export interface AbilityHit {
  ability: string;
  agent_name: string;
  agent_version: string;
  score: number;
  confidence: number;
}

/** `POST /v1/route`: who would get this envelope and why; nothing was sent. */
export interface RouteExplanation {
  decision_id: string;
  /** Null when nobody fits; then `code` and `diagnosis` say why. */
  agent_name: string | null;
  agent_version: string | null;
  ability: string;
  route_reason: string;
  strategy: Decision['strategy'] | null;
  confidence: number;
  explored: boolean;
  /** How its version was chosen, where there was a choice. */
  versioning?: VersioningRecord;
  candidates: Candidate[];
  excluded: Exclusion[];
  excluded_count: number;
  /** The weights in use; `score` is their sum product with a candidate's factors. */
  weights: Record<keyof ScoreFactors, number>;
  code?: ErrorCode;
  diagnosis?: Diagnosis;
  /** Findings about the payload, when it is what nobody accepts. */
  errors?: FieldError[];
}
