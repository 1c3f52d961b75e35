import type { RouteExplanation } from '../protocol/route-explanation';
import type { Decision } from '../protocol/shapes';
import type { StatsLookup } from '../protocol/world';
import { toCandidate } from './candidates';
import { certaintyOf } from './certainty';
import { weighInstances } from './instances';
import type { Chosen, Refused } from './outcome';
import { toExclusions } from './refusals';
import { ANY_ABILITY } from './scope';
import { confidenceOf, rounded } from './score';
import type { FactorName, InstanceWeights, RouteRequest } from './types';
import { routeReason } from './wording';

/** What a record needs besides the outcome itself. */
export interface RecordContext {
  request: RouteRequest;
  stats: StatsLookup;
  weights: Record<FactorName, number>;
  instanceWeights: InstanceWeights;
  decisionId: string;
  at: Date;
}

/** The record of a choice (R23). */
export function toDecision(outcome: Chosen, context: RecordContext): Decision {
  const { chosen, strategy, refusals, sieve } = outcome;
  const { request } = context;
  const { agentName, agentVersion, capability } = chosen.offer;
  const mark = sieve.admission(chosen.offer)?.gate.mark ?? null;
  return {
    decision_id: context.decisionId,
    at: context.at.toISOString(),
    ability: request.ability ?? capability.name,
    ...(request.version !== undefined && { version: request.version }),
    group: request.group,
    strategy,
    chosen: {
      agent_name: agentName,
      agent_version: agentVersion,
      ability: capability.name,
      score: chosen.score,
      ...(mark !== null && { admission: mark }),
    },
    confidence: confidence(outcome, request),
    explored: outcome.exploration?.explored ?? false,
    ...(outcome.exploration && { exploration: outcome.exploration.record }),
    ...(outcome.versioning && { versioning: outcome.versioning }),
    candidates: recordedCandidates(outcome, context),
    excluded: toExclusions(refusals, sieve),
    excluded_count: refusals.length,
    route_reason: reasonOf(outcome, context.weights),
  };
}

/** The best, and the chosen one wherever it ranks. */
function recordedCandidates(
  { best, chosen, index }: Chosen,
  { stats, instanceWeights }: RecordContext,
): Decision['candidates'] {
  const recorded = best.some(({ offer }) => offer === chosen.offer) ? best : [...best.slice(0, -1), chosen];
  return recorded.map((scored) =>
    toCandidate(scored, weighInstances(index.agentOf(scored.offer), stats, instanceWeights)),
  );
}

/**
 * How sure the choice of the agent is; where the ability was left open, no surer than that this ability is meant: somebody who
 * is alone in the running is certain to win, not certain to be who was asked for.
 */
function confidence(outcome: Chosen, { ability }: RouteRequest): number {
  const own = ownConfidence(outcome);
  const certain = ability === ANY_ABILITY ? certaintyOf(outcome.chosen.offer, outcome.scoring.matches) : null;
  return certain === null ? own : Math.min(own, certain);
}

/** Of a scored choice, how far it stands out; an explicit one is certain; chance has its share. */
function ownConfidence({ strategy, best, count }: Chosen): number {
  if (strategy === 'round_robin' || strategy === 'random') return rounded(1 / count);
  return strategy === 'rule' ? 1 : confidenceOf(best.map(({ score }) => score));
}

function reasonOf(
  { strategy, chosen, best, count, refusals, notes, exploration }: Chosen,
  weights: RecordContext['weights'],
): string {
  const runnerUp = best.find(({ offer }) => offer !== chosen.offer) ?? null;
  const counts = { candidateCount: count, excludedCount: refusals.length };
  return routeReason({ strategy, chosen, runnerUp, ...counts, weights, notes, ...(exploration && { exploration }) });
}

/** A decision laid flat for a dry run. */
export function toExplanation(decision: Decision, weights: Record<FactorName, number>): RouteExplanation {
  const { chosen, decision_id, route_reason, strategy, confidence, explored, candidates, excluded, excluded_count } =
    decision;
  const { agent_name, agent_version, ability } = chosen;
  const told = { decision_id, agent_name, agent_version, ability, route_reason, strategy, confidence, explored };
  return {
    ...told,
    ...(decision.versioning && { versioning: decision.versioning }),
    candidates,
    excluded,
    excluded_count,
    weights,
  };
}

/** Why there is no decision, in the same shape. */
export function toFailedExplanation({ error, sieve, refusals }: Refused, context: RecordContext): RouteExplanation {
  const { diagnosis, errors } = error.options;
  return {
    decision_id: context.decisionId,
    agent_name: null,
    agent_version: null,
    ability: context.request.ability ?? '',
    route_reason: error.message,
    strategy: null,
    confidence: 0,
    explored: false,
    candidates: [],
    excluded: sieve === null ? [] : toExclusions(refusals, sieve),
    excluded_count: refusals.length,
    weights: context.weights,
    code: error.code,
    ...(diagnosis && { diagnosis }),
    ...(errors && { errors }),
  };
}
