/** What the gateway answers, as the client hands it out: snake_case, ISO times, durations in ms. */
import type { DeliverySummary } from '../protocol/callback-target';
import type { Descriptor } from '../protocol/descriptor';
import type { Problem } from '../protocol/reach-error';
import type {
  AttemptRecord,
  InstanceState,
  JsonObject,
  ReachResult as WireResult,
  ReachStatus,
  Receipt,
} from '../protocol/shapes';
import type { AbilityStats } from '../protocol/world';

export type { ReachSummary } from '../protocol/reach-summary';
export type { RouteExplanation } from '../protocol/route-explanation';
/** One hit of `POST /v1/abilities:search`. */
export type { NearAbility as AbilityHit } from '../protocol/shapes';

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
    /** Reaches that wait for it, in all processes. */
    queue_depth: number;
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
