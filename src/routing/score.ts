/**
 * The arithmetic of the score (R17): pure functions of numbers, each result finite and within 0–1.
 */
import { ReachError } from '../protocol/reach-error';
import type { ScoreFactors } from '../protocol/shapes';
import type { AbilityStats } from '../protocol/world';
import type { FactorName, RouterConfig } from './types';

/** A newcomer counts as fast as the median of the measured candidates; among newcomers alone, as this. */
export const NEWCOMER_P50_MS = 500;

/**
 * Prior of the success rate: Beta(18, 2), as if 18 of 20 earlier calls had succeeded. A newcomer starts at 0.9,
 * two successes make 0.91, a thousand calls at 99 % make 0.988: little evidence cannot outrank much.
 */
export const RELIABILITY_PRIOR = { successes: 18, failures: 2 };

/** Score margin at which the confidence of a decision reaches 1 − 1/e. */
const CONFIDENCE_MARGIN = 0.25;

const FACTORS: readonly FactorName[] = ['semantic_similarity', 'latency_score', 'reliability_score'];

/** Six decimals: what is recorded recomputes to the total, and noise in the last bits decides nothing. */
export function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/**
 * Similarity calibrated over the candidates of one query: the nearest gets 1, the others e^(difference in closeness).
 * Raw cosines of small models all lie close together, and a min–max scale would blow up a difference that means nothing.
 */
export function calibrate(closeness: ArrayLike<number>): Float64Array {
  let best = -Infinity;
  for (let i = 0; i < closeness.length; i++) best = Math.max(best, closeness[i]!);
  const calibrated = new Float64Array(closeness.length);
  for (let i = 0; i < calibrated.length; i++) calibrated[i] = rounded(Math.exp(closeness[i]! - best));
  return calibrated;
}

/** 1 / (1 + p50 in seconds): 1 at 0 s, 0.5 at 1 s; what is not a duration counts as endless. */
export function latencyScore(p50Ms: number): number {
  if (!Number.isFinite(p50Ms)) return 0;
  return rounded(1 / (1 + Math.max(0, p50Ms) / 1000));
}

/** What stands in for the latency of candidates not measured yet. */
export function newcomerP50Ms(measured: readonly (AbilityStats | null)[]): number {
  if (measured.every((stats) => stats !== null && stats.p50_ms !== null)) return NEWCOMER_P50_MS; // nobody to stand in for
  const known = Float64Array.from(measured.flatMap((stats) => stats?.p50_ms ?? [])).sort();
  if (known.length === 0) return NEWCOMER_P50_MS;
  const middle = known.length >> 1;
  return known.length % 2 === 1 ? known[middle]! : (known[middle - 1]! + known[middle]!) / 2;
}

/** Mean of the success rate's posterior under {@link RELIABILITY_PRIOR}; outcomes count by what they still weigh. */
export function reliabilityScore(stats: AbilityStats | null): number {
  const outcomes = stats?.evidence ?? stats;
  const requests = Math.max(0, outcomes?.requests ?? 0);
  const failures = Math.min(requests, Math.max(0, outcomes?.failures ?? 0));
  const { successes: priorSuccesses, failures: priorFailures } = RELIABILITY_PRIOR;
  return rounded((requests - failures + priorSuccesses) / (requests + priorSuccesses + priorFailures));
}

/**
 * The weights in use: those of the enabled factors, scaled to sum to 1.
 * @throws ReachError `weights_invalid` when one is negative or not finite, or all are 0
 */
export function effectiveWeights({
  weights,
  enabledFactors,
}: Pick<RouterConfig, 'weights' | 'enabledFactors'>): Record<FactorName, number> {
  const used = FACTORS.map((factor) => (enabledFactors.includes(factor) ? weights[factor] : 0));
  requireWeights('router.weights', { ...weights });
  const sum = used.reduce((total, weight) => total + weight, 0);
  if (!(sum > 0)) throw weightsInvalid('router.weights', 'at least one enabled factor needs a weight above 0');
  return Object.fromEntries(FACTORS.map((factor, i) => [factor, used[i]! / sum])) as Record<FactorName, number>;
}

/** @throws ReachError `weights_invalid` unless every weight is finite and at least 0, and one is above 0 */
export function requireWeights(where: string, weights: Record<string, number>): void {
  for (const [name, weight] of Object.entries(weights)) {
    if (!Number.isFinite(weight) || weight < 0)
      throw weightsInvalid(`${where}.${name}`, `must be a number of at least 0, not ${weight}`);
  }
  if (!Object.values(weights).some((weight) => weight > 0)) throw weightsInvalid(where, 'at least one must be above 0');
}

function weightsInvalid(where: string, message: string): ReachError {
  const pointer = `/${where.replaceAll('.', '/')}`;
  return new ReachError('weights_invalid', `${where}: ${message}`, { errors: [{ pointer, message }] });
}

/** Sum product of factors and weights (R17). */
export function totalScore(factors: Readonly<ScoreFactors>, weights: Record<FactorName, number>): number {
  const sum =
    weights.semantic_similarity * factors.semantic_similarity +
    weights.latency_score * factors.latency_score +
    weights.reliability_score * factors.reliability_score;
  return rounded(Math.min(1, sum));
}

/**
 * How far the winner stands out: 1 − e^(−margin / 0.25), margin = its score minus the runner-up's. 0 is a tie,
 * 0.05 gives 0.18, 0.5 gives 0.86; without a runner-up it is 1.
 */
export function confidenceOf(scores: readonly number[]): number {
  const [winner, runnerUp] = scores;
  if (winner === undefined || runnerUp === undefined) return 1;
  return rounded(1 - Math.exp(-Math.max(0, winner - runnerUp) / CONFIDENCE_MARGIN));
}
