import { MAX_RECORDED_CANDIDATES } from '../protocol/limits';
import type { Match } from '../protocol/matching';
import type { Candidate, ScoreFactors } from '../protocol/shapes';
import type { StatsLookup } from '../protocol/world';
import type { Offer } from './ability-index';
import type { Matches } from './comparison';
import { bestPositions } from './meaning/best-first';
import { calibrate, latencyScore, newcomerP50Ms, reliabilityScore, rounded, totalScore } from './score';
import type { FactorName } from './types';

/** An offer that could take the call, with every part of its score. */
export interface ScoredOffer {
  offer: Offer;
  match: Match | null;
  factors: ScoreFactors;
  score: number;
}

export interface ScoringOptions {
  /** Empty when nothing was compared: then all count as equally near (1). */
  matches: Matches;
  stats: StatsLookup;
  weights: Record<FactorName, number>;
  /**
   * Whether an offer passes a breaker that is not closed. Its call is there to find out whether it is well again, so its
   * failures do not count against it: else it would lose to its equals for ever (R28).
   */
  isMarked?: (offer: Offer) => boolean;
}

/**
 * The scores of some offers. Ties go to the offer that comes first: with offers in the index's order that is the
 * agent whose name sorts first, so the order in which the registry lists agents never matters.
 */
export class Scoring {
  /** The best {@link MAX_RECORDED_CANDIDATES}, best first. */
  readonly best: readonly ScoredOffer[];
  private readonly similarities: readonly number[];
  private readonly latencies: Float64Array;
  private readonly reliabilities: Float64Array;
  private readonly scores: Float64Array;

  constructor(
    readonly offers: readonly Offer[],
    private readonly options: ScoringOptions,
  ) {
    const { matches, stats } = options;
    const measured = offers.map((offer) => stats.ability(offer.agentName, offer.agentVersion, offer.capability.name));
    const priorP50Ms = newcomerP50Ms(measured);
    this.similarities = similaritiesOf(offers, matches);
    this.latencies = Float64Array.from(measured, (own) => latencyScore(own?.p50_ms ?? priorP50Ms));
    this.reliabilities = this.pardoned(Float64Array.from(measured, reliabilityScore));
    this.scores = this.totals();
    this.best = bestPositions(this.scores, MAX_RECORDED_CANDIDATES, () => true).map((position) => this.at(position));
  }

  /** One offer with its score, by its position in {@link offers}. */
  at(position: number): ScoredOffer {
    const offer = this.offers[position]!;
    const factors = this.factorsAt(position);
    return { offer, match: this.options.matches.get(offer) ?? null, factors, score: this.scores[position]! };
  }

  private pardoned(reliabilities: Float64Array): Float64Array {
    const { isMarked } = this.options;
    if (!isMarked || !this.offers.some(isMarked)) return reliabilities;
    const best = Math.max(reliabilityScore(null), ...reliabilities);
    return reliabilities.map((own, position) => (isMarked(this.offers[position]!) ? best : own));
  }

  private factorsAt(position: number): ScoreFactors {
    return {
      semantic_similarity: this.similarities[position]!,
      latency_score: this.latencies[position]!,
      reliability_score: this.reliabilities[position]!,
    };
  }

  private totals(): Float64Array {
    const { weights } = this.options;
    return Float64Array.from(this.offers, (_, position) => totalScore(this.factorsAt(position), weights));
  }
}

function similaritiesOf(offers: readonly Offer[], matches: Matches): number[] {
  if (matches.size === 0) return offers.map(() => 1);
  // An offer whose text could not be compared is as near as nothing, not as the best.
  return calibrate(offers.map((offer) => matches.get(offer)?.closeness ?? -Infinity));
}

/** The record of a candidate; `instances` are weighed by the caller. */
export function toCandidate(
  { offer, match, factors, score }: ScoredOffer,
  instances: Candidate['instances'],
): Candidate {
  return {
    agent_name: offer.agentName,
    agent_version: offer.agentVersion,
    ability: offer.capability.name,
    score,
    cosine: match === null ? null : rounded(match.cosine),
    factors,
    instances,
  };
}
