import type { ReachError } from '../protocol/reach-error';
import type { Decision, VersioningRecord } from '../protocol/shapes';
import type { AbilityIndex } from './ability-index';
import type { ByChance, ScoredOffer, Scoring } from './candidates';
import type { Refusal } from './refusals';
import type { Sieve } from './sieve';

/** Somebody was chosen. */
export interface Chosen {
  kind: 'chosen';
  index: AbilityIndex;
  sieve: Sieve;
  /** The best of those who fit, best first, as many as are recorded. */
  best: readonly ScoredOffer[];
  /** Everybody who fit, with what they were scored by. */
  scoring: Scoring;
  /** How many fit. */
  count: number;
  chosen: ScoredOffer;
  strategy: Decision['strategy'];
  /** What chance did, where it had a say: `chosen` is the winner unless it `explored` (R17). */
  exploration?: ByChance;
  refusals: readonly Refusal[];
  /** Further clauses of the reason. */
  notes: readonly string[];
  /** How its version was chosen, where there was a choice (R21). */
  versioning?: VersioningRecord;
  /** A rule names its version: the route table has no say. */
  pinned?: boolean;
  /** The sieve before, which nobody passed who was meant: `sieve` asked neither for readiness nor for breakers. */
  eager?: Sieve;
}

/** Nobody fits; `sieve` is null when the names alone led nowhere. */
export interface Refused {
  kind: 'refused';
  error: ReachError;
  sieve: Sieve | null;
  refusals: readonly Refusal[];
  /** See {@link Chosen.eager}. */
  eager?: Sieve;
}

export type Outcome = Chosen | Refused;
