/**
 * The decision log on the wire (R23), as plain types: what is kept of each routing decision, so that it can be explained
 * and decided again under other circumstances. Nothing here exists at run time.
 */
import type { ErrorCode } from './error-codes';
import type { AdmissionMark } from './reliability';
import type { FormerRoute, RouteEntry } from './route-table';
import type { Decision, Diagnosis, ScoreFactors } from './shapes';

/** A decision as the log has it: the {@link Decision}, or the refusal of a request that nobody could take. */
export interface LoggedDecision extends Omit<Decision, 'chosen' | 'strategy'> {
  /** The process that decided, such as `p-1f3a9c20`. */
  made_by: string;
  /** Null: nobody could take it, and `code` and `diagnosis` say why. */
  chosen: Decision['chosen'] | null;
  strategy: Decision['strategy'] | null;
  code?: ErrorCode;
  diagnosis?: Diagnosis;
  /** The weights in use, summing to 1: `score` is their sum product with `factors` (R17). */
  weights: ScoreFactors;
  /** What the decision was made of; left out of lists unless asked for, and absent where nothing was compared. */
  inputs?: DecisionInputs;
}

/** All that a decision depended on, as far as it can be kept. */
export interface DecisionInputs {
  request: DecisionRequest;
  /** What candidates were compared with, at most 2,000 characters; absent where there was none, or by setting. */
  text?: string;
  /** SHA-256 of it, hex. Absent: the request had no text. */
  text_sha256?: string;
  /** How one was to be chosen; differs from the decision's strategy where a rule or the caller had the word. */
  strategy: 'score_based' | 'round_robin' | 'random';
  /** `router.exploration` and `router.open_match` as they were. */
  exploration: { rate: number; band: number };
  open_match: { minFit: number; minConfidence: number };
  /** Routes of the agents below, for this ability and group (R21), and what split they had before. */
  routes?: RouteEntry[];
  former_routes?: FormerRoute[];
  /** By agent: hash of what keeps a caller's requests with one version (R21). Absent: chance decided. */
  sticky?: Record<string, string>;
  /** Everybody who passed the filters, and those who were kept out by the moment rather than by the request. */
  offers: OfferFacts[];
  /** Of those who passed the filters too and are not in `offers`: how many, and the greatest score and factors of any. */
  unrecorded?: { count: number; score: number; factors: ScoreFactors };
  /** The latency that stood in for those not measured yet, ms. */
  newcomer_p50_ms: number;
  /** Position of the chosen among those who passed: whose turn it was, or who was drawn. Only for these strategies. */
  position?: number;
  /** A durable hand-over, and nobody who was meant was ready or let pass: readiness and breakers did not count. */
  patient?: true;
  /** Too few agents were healthy (R24). */
  degraded?: true;
}

/** The request, without its payload and metadata. */
export interface DecisionRequest {
  ability?: string;
  target_agent?: string;
  type: string;
  version?: string;
  group: string;
  mode: 'sync' | 'async';
  /** `name#version` of agents that were tried already. */
  exclude?: string[];
}

/** One ability of one version of an agent, as it stood when the decision was made. */
export interface OfferFacts {
  agent_name: string;
  agent_version: string;
  ability: string;
  /** Ranges of older versions that it also serves; absent: none. */
  compatible_versions?: string[];
  /** When the version was first registered (R21). */
  registered_at: string;
  /** Names what the ability said about itself then; the same texts have the same name. */
  text_id: string;
  /** How near it was to the text; absent where it was not compared. */
  match?: MatchFacts;
  /** Absent: nothing was measured yet. */
  stats?: MeasuredThen;
  /** What kept it out, though it fits the request: `readiness`, `breaker`, another version of its agent … */
  held_by?: string;
  /** In a `patient` decision, where it did not count: it was ready. */
  was_ready?: true;
  /** Its breaker, where that was not closed. */
  breaker?: { share: number; mark: AdmissionMark | null; passed: boolean };
}

/** What was measured of it, as far as the score goes by it. */
export interface MeasuredThen {
  requests: number;
  failures: number;
  /** What these outcomes still weighed at that moment: the reliability was computed from this. Absent: each in full. */
  evidence?: { requests: number; failures: number };
  p50_ms: number | null;
}

/** The parts of a comparison by meaning; see `Match`. */
export interface MatchFacts {
  cosine: number;
  closeness: number;
  fit: number;
  by: 'dense' | 'lexical';
  degraded?: true;
}
