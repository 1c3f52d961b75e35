/** The sentences of `route_reason`: why this agent, for people. */
import type { BreakerGate } from '../protocol/reliability';
import type { Decision } from '../protocol/shapes';
import type { DegradedMode } from '../protocol/world';
import type { ByChance, ScoredOffer } from './candidates';
import type { FactorName } from './types';

const PHRASES: Record<FactorName, string> = {
  semantic_similarity: 'nearer in meaning',
  latency_score: 'faster',
  reliability_score: 'more reliable',
};

export interface ReasonInput {
  strategy: Decision['strategy'];
  /** The chosen one first when candidates were scored. */
  chosen: ScoredOffer;
  runnerUp: ScoredOffer | null;
  candidateCount: number;
  excludedCount: number;
  weights: Record<FactorName, number>;
  /** What chance did. */
  exploration?: ByChance;
  /** Further clauses, such as that it is not ready now. */
  notes: readonly string[];
}

/** One sentence naming the agent, its score, the runner-up and what decided. */
export function routeReason(input: ReasonInput): string {
  return [mainClause(input), ...matchingNotes(input.chosen), ...input.notes].join('; ');
}

function mainClause(input: ReasonInput): string {
  const { strategy, chosen, runnerUp, candidateCount, excludedCount, weights, exploration } = input;
  const name = chosen.offer.agentName;
  const ability = chosen.offer.capability.name;
  if (strategy === 'rule') return `${name} takes ${ability} by an explicit rule`;
  if (strategy === 'round_robin') return `${name} is next in turn of ${candidateCount} for ${ability}`;
  if (strategy === 'random') return `${name} was drawn at random from ${candidateCount} for ${ability}`;
  if (!runnerUp) {
    const others = excludedCount > 0 ? `; ${excludedCount} excluded` : '';
    if (strategy === 'direct') return `${name} was named by the caller and takes ${ability}${others}`;
    return `${name} is the only agent that can take ${ability}, score ${short(chosen.score)}${others}`;
  }
  if (exploration?.explored) return explorationClause(chosen, exploration);
  const second =
    runnerUp.offer.agentName === name ? `${name}'s ${runnerUp.offer.capability.name}` : runnerUp.offer.agentName;
  return `${name} takes ${ability} with score ${short(chosen.score)}, ahead of ${second} ${short(runnerUp.score)}: ${whatDecided(chosen, runnerUp, weights)}`;
}

/** That somebody else than the winner is tried (R17). */
function explorationClause({ offer, score }: ScoredOffer, { winner, record }: ByChance): string {
  const from = record.among > 1 ? ` from ${record.among} near to the winner` : '';
  return `${offer.agentName} is tried for ${offer.capability.name} (exploration) with score ${short(score)}, drawn${from} instead of ${winner.offer.agentName} ${short(winner.score)}`;
}

/** The part of the score that put the winner ahead. */
function whatDecided(winner: ScoredOffer, runnerUp: ScoredOffer, weights: Record<FactorName, number>): string {
  if (winner.score === runnerUp.score) return 'a tie, settled by lot where that may be, else by name';
  const leads = (Object.keys(PHRASES) as FactorName[]).map((factor) => ({
    factor,
    lead: weights[factor] * (winner.factors[factor] - runnerUp.factors[factor]),
  }));
  const { factor } = leads.reduce((most, next) => (next.lead > most.lead ? next : most));
  return `${PHRASES[factor]} (${short(winner.factors[factor])} against ${short(runnerUp.factors[factor])})`;
}

function matchingNotes({ match }: ScoredOffer): string[] {
  if (match?.degraded) return ['lexical fallback, embeddings unavailable'];
  return match?.by === 'lexical' ? ['compared by wording, no embeddings configured'] : [];
}

/** Why a call passes a breaker that is not closed (R28). */
export function admissionNote({ mark, share }: Pick<BreakerGate, 'mark' | 'share'>): string {
  switch (mark) {
    case 'bypass':
      return share < 1
        ? `passes its breaker as one of ${percent(share)} (bypass)`
        : 'passes its breaker as the marked call that is due (bypass)';
    case 'probe':
      return 'is the probe of an open breaker';
    case 'recovery':
      return share < 1 ? `recovering, ${percent(share)} pass` : 'recovering, the marked call that is due';
    case null:
      return `its breaker lets ${percent(share)} pass`;
  }
}

/** That the platform is in degraded mode (R24), and how far. */
export function degradedNote({ healthyShare, threshold }: DegradedMode): string {
  return `degraded mode: ${percent(healthyShare)} of the agents are healthy (threshold ${percent(threshold)})`;
}

/** A share of 0–1 for people: `5 %`, `0.5 %`. */
export function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}

function short(value: number): string {
  return value.toFixed(2);
}
