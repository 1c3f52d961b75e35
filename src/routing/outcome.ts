import type { ReachError } from '../protocol/reach-error';
import type { Decision } from '../protocol/shapes';
import type { AbilityIndex } from './ability-index';
import type { ScoredOffer } from './candidates';
import type { Refusal } from './refusals';
import type { Sieve } from './sieve';

/** Somebody was chosen. */
export interface Chosen {
  kind: 'chosen';
  index: AbilityIndex;
  sieve: Sieve;
  /** The best of those who fit, best first, as many as are recorded. */
  best: readonly ScoredOffer[];
  /** How many fit. */
  count: number;
  chosen: ScoredOffer;
  strategy: Decision['strategy'];
  refusals: readonly Refusal[];
  /** Further clauses of the reason. */
  notes: readonly string[];
}

/** Nobody fits; `sieve` is null when the names alone led nowhere. */
export interface Refused {
  kind: 'refused';
  error: ReachError;
  sieve: Sieve | null;
  refusals: readonly Refusal[];
}

export type Outcome = Chosen | Refused;
