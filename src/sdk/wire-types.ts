/** What the gateway answers, as the client hands it out (see `design` of the wire contract: snake_case, ISO times, ms). */
import type { AbilityStats } from '../protocol/world';
import type { Problem } from '../protocol/reach-error';
import type {
  AgentStatus,
  AttemptRecord,
  Candidate,
  Diagnosis,
  Exclusion,
  InstanceState,
  JsonObject,
  ReachLinks,
  ReachResult as WireResult,
  ReachStatus,
} from '../protocol/shapes';

/** An agent's answer with its output typed by the caller: `ReachResult<{ label: string }>`. */
export interface ReachResult<T = JsonObject> extends Omit<WireResult, 'output'> {
  /** The agent's whole answer. The type is the caller's claim; the agent's `output_schema` is what was checked. */
  output: T;
}

/** `GET /v1/reaches/{id}`: what is known of a reach now. Result members are there once it is `completed`. */
export interface ReachView extends Partial<Omit<WireResult, 'status' | 'reach_id' | 'attempts'>> {
  reach_id: string;
  status: ReachStatus;
  /** Why it ended without an answer. */
  error?: Problem;
  ability?: string;
  accepted_at?: string;
  ended_at?: string;
  attempts?: number | AttemptRecord[];
  links?: ReachLinks;
}

/** One row of `GET /v1/reaches`. */
export interface ReachSummary {
  reach_id: string;
  status: ReachStatus;
  ability?: string;
  agent_name?: string;
  agent_version?: string;
  source_agent?: string;
  started_at?: string;
  duration_ms?: number;
  error?: Pick<Problem, 'code'> & { detail?: string };
}

/** A page of a list. `next_cursor` is absent on the last one. */
export interface Page<T> {
  items: T[];
  next_cursor?: string;
}

/** One version of an agent. */
export interface AgentVersionView {
  version: string;
  descriptor: JsonObject;
  registered_at: string;
}

/** One ability of an agent, with the state of its breaker. */
export interface AgentAbilityView {
  name: string;
  breaker: { state: string; since: string; error_rate: number; reason?: string };
  stats: Partial<AbilityStats> | null;
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
    queue_depth: number;
    requests: number;
  };
  status: AgentStatus | 'unavailable' | 'expired';
}

/** `POST /v1/agents`: what was registered, and what the platform thinks of it. */
export interface RegistrationView {
  name: string;
  version: string;
  warnings?: { pointer?: string; code?: string; message: string; fix?: string }[];
}

/** One ability of the catalogue and who offers it. */
export interface AbilityView {
  name: string;
  description?: string;
  agents: { agent_name: string; agent_version: string; status?: string }[];
}

/** One hit of `POST /v1/abilities:search`. */
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
  agent_name?: string;
  agent_version?: string;
  ability?: string;
  route_reason: string;
  strategy: string;
  confidence?: number;
  candidates: Candidate[];
  excluded: Exclusion[];
  diagnosis?: Diagnosis;
}
