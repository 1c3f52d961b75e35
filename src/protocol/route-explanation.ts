import type { ErrorCode } from './error-codes';
import type { FieldError } from './reach-error';
import type { Candidate, Decision, Diagnosis, Exclusion, ScoreFactors, VersioningRecord } from './shapes';

/** `POST /v1/route`: who would get this envelope and why, a decision laid flat, or why there is none; nothing was sent. */
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
  /** How its version was chosen, where there was a choice (R21). */
  versioning?: VersioningRecord;
  candidates: Candidate[];
  excluded: Exclusion[];
  excluded_count: number;
  /** The weights in use, summing to 1: a candidate's `score` is their sum product with its `factors`. */
  weights: Record<keyof ScoreFactors, number>;
  code?: ErrorCode;
  diagnosis?: Diagnosis;
  /** Findings about the payload, when it is what nobody accepts. */
  errors?: FieldError[];
}
