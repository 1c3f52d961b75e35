import { MAX_RECORDED_CANDIDATES } from '../protocol/limits';
import type { Match } from '../protocol/matching';
import type { Candidate, ExplorationRecord, ScoreFactors } from '../protocol/shapes';
import type { StatsLookup } from '../protocol/world';
import type { Offer } from './ability-index';
import type { Rivals } from './exploration';
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

/** What chance did in a scored choice (R17): the winner, and whether somebody else takes the call. */
export interface ByChance {
  winner: ScoredOffer;
  explored: boolean;
  record: ExplorationRecord;
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
 * The scores of some offers. Of equals the offer that comes first ranks first: with offers in the index's order that
 * is the agent whose name sorts first, so the order in which the registry lists agents never matters.
 */
export class Scoring {
  /** The best {@link MAX_RECORDED_CANDIDATES}, best first. */
  readonly best: readonly ScoredOffer[];
  /** The latency that stands in for those not measured yet, ms. */
  readonly priorP50Ms: number;
  private readonly similarities: Float64Array;
  private readonly latencies: Float64Array;
  private readonly reliabilities: Float64Array;
  private readonly scores: Float64Array;

  constructor(
    readonly offers: readonly Offer[],
    private readonly options: ScoringOptions,
  ) {
    const { matches, stats } = options;
    const measured = offers.map((offer) => stats.ability(offer.agentName, offer.agentVersion, offer.capability.name));
    this.priorP50Ms = newcomerP50Ms(measured);
    this.similarities = similaritiesOf(offers, matches);
    this.latencies = new Float64Array(offers.length);
    const reliabilities = new Float64Array(offers.length);
    for (let i = 0; i < offers.length; i++) {
      this.latencies[i] = latencyScore(measured[i]?.p50_ms ?? this.priorP50Ms);
      reliabilities[i] = reliabilityScore(measured[i] ?? null);
    }
    this.reliabilities = this.pardoned(reliabilities);
    this.scores = this.totals();
    this.best = bestPositions(this.scores, MAX_RECORDED_CANDIDATES, () => true).map((position) => this.at(position));
  }

  /** One offer with its score, by its position in {@link offers}. */
  at(position: number): ScoredOffer {
    const offer = this.offers[position]!;
    const factors = this.factorsAt(position);
    return { offer, match: this.options.matches.get(offer) ?? null, factors, score: this.scores[position]! };
  }

  /** What the offers were compared by: also those who are near but cannot take it. Empty when nothing was. */
  get matches(): Matches {
    return this.options.matches;
  }

  /** How near an offer is to the text; null where it was not compared. */
  matchOf(offer: Offer): Match | null {
    return this.options.matches.get(offer) ?? null;
  }

  /** Positions of the best, so many, best first. */
  top(limit: number): number[] {
    return bestPositions(this.scores, limit, () => true);
  }

  /** Positions of who has the greatest of each factor: nobody else scores more by it, whatever the weights. */
  extremes(): number[] {
    const factors = [this.similarities, this.latencies, this.reliabilities];
    return factors.map((values) => bestPositions(values, 1, () => true)[0]!);
  }

  /**
   * Who is as good as the best, and who is within `band` of it (R17). Only for the ability of the best: agents that do
   * the same work are tried for each other, what an open request means is not a matter of chance. Of equals those come
   * first that pass a breaker, as many as it lets through; such a call is a trial already, and nobody is tried for it.
   */
  rivals(band: number): Rivals {
    const { tied, near } = this.nearest(band);
    const { isMarked } = this.options;
    const onTrial = isMarked ? tied.filter((position) => isMarked(this.offers[position]!)) : [];
    return onTrial.length > 0 ? { tied: onTrial, near: onTrial } : { tied, near };
  }

  private nearest(band: number): { tied: number[]; near: number[] } {
    const { offer, score } = this.best[0]!;
    const rivals = { tied: [] as number[], near: [] as number[] };
    for (let position = 0; position < this.offers.length; position++) {
      const behind = rounded(score - this.scores[position]!);
      if (behind > band || this.offers[position]!.capability.name !== offer.capability.name) continue;
      rivals.near.push(position);
      if (behind === 0) rivals.tied.push(position);
    }
    return rivals;
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
    const totals = new Float64Array(this.offers.length);
    const factors: ScoreFactors = { semantic_similarity: 0.5, latency_score: 0.5, reliability_score: 0.5 };
    for (let position = 0; position < totals.length; position++) {
      // One object for all: with a thousand candidates, what is made anew for each of them is what a decision waits for.
      factors.semantic_similarity = this.similarities[position]!;
      factors.latency_score = this.latencies[position]!;
      factors.reliability_score = this.reliabilities[position]!;
      totals[position] = totalScore(factors, weights);
    }
    return totals;
  }
}

function similaritiesOf(offers: readonly Offer[], matches: Matches): Float64Array {
  const closeness = new Float64Array(offers.length);
  if (matches.size === 0) return closeness.fill(1);
  // An offer whose text could not be compared is as near as nothing, not as the best.
  for (let i = 0; i < closeness.length; i++) closeness[i] = matches.get(offers[i]!)?.closeness ?? -Infinity;
  return calibrate(closeness);
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
