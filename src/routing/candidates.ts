import { MAX_RECORDED_CANDIDATES } from '../protocol/limits';
import type { Match } from '../protocol/matching';
import type { Candidate, ScoreFactors } from '../protocol/shapes';
import type { StatsLookup } from '../protocol/world';
import { compareText, type Offer } from './ability-index';
import type { Matches } from './comparison';
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
}

/**
 * Scores offers: the best {@link MAX_RECORDED_CANDIDATES} in front, best first, the others behind in no order. Ties go to the name that sorts first (agent, then ability, in code-unit order), so the
 * order in which the registry lists agents never matters.
 */
export function scoreOffers(offers: readonly Offer[], { matches, stats, weights }: ScoringOptions): ScoredOffer[] {
  const similarities = similarityOf(offers, matches);
  const measured = offers.map((offer) => stats.ability(offer.agentName, offer.agentVersion, offer.capability.name));
  const priorP50Ms = newcomerP50Ms(measured);
  const scored = offers.map((offer, i) => {
    const factors = {
      semantic_similarity: similarities[i]!,
      latency_score: latencyScore(measured[i]?.p50_ms ?? priorP50Ms),
      reliability_score: reliabilityScore(measured[i] ?? null),
    };
    return { offer, match: matches.get(offer) ?? null, factors, score: totalScore(factors, weights) };
  });
  return bestToTheFront(scored);
}

/** As much of sorting as is needed: with a thousand candidates it is what costs. */
function bestToTheFront(scored: ScoredOffer[]): ScoredOffer[] {
  if (scored.length <= MAX_RECORDED_CANDIDATES) return scored.sort(bestFirst);
  const front: ScoredOffer[] = [];
  for (const candidate of scored) {
    if (front.length === MAX_RECORDED_CANDIDATES && bestFirst(candidate, front.at(-1)!) >= 0) continue;
    const place = front.findIndex((other) => bestFirst(candidate, other) < 0);
    front.splice(place < 0 ? front.length : place, 0, candidate);
    if (front.length > MAX_RECORDED_CANDIDATES) front.pop();
  }
  const chosen = new Set(front);
  return [...front, ...scored.filter((candidate) => !chosen.has(candidate))];
}

function similarityOf(offers: readonly Offer[], matches: Matches): number[] {
  if (matches.size === 0) return offers.map(() => 1);
  // An offer whose text could not be compared is as near as nothing, not as the best.
  const found = offers.map((offer) => matches.get(offer)?.closeness ?? -Infinity);
  return calibrate(found);
}

function bestFirst(a: ScoredOffer, b: ScoredOffer): number {
  return (
    b.score - a.score ||
    compareText(a.offer.agentName, b.offer.agentName) ||
    compareText(a.offer.capability.name, b.offer.capability.name)
  );
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
