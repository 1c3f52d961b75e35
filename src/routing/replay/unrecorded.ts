import type { DecisionInputs, OfferFacts } from '../../protocol/logged-decision';
import type { ScoreFactors } from '../../protocol/shapes';

const FACTORS = ['semantic_similarity', 'latency_score', 'reliability_score'] as const;

type Unrecorded = NonNullable<DecisionInputs['unrecorded']>;

/**
 * The most that a candidate outside the record can score under other weights. It scored no more than `score` under the
 * weights then, and none of its factors is greater than `factors`. Under these two bounds the best it can do is a
 * fractional knapsack: spend the old score where the new weight buys most
 * (Dantzig, "Discrete-variable extremum problems", Operations Research 5, 1957).
 * @param scale by how much similarities grow, as the nearest of all is gone
 */
export function bestUnrecorded(
  { score: budget, factors: most }: Unrecorded,
  { before, now, scale }: { before: ScoreFactors; now: ScoreFactors; scale: number },
): number {
  const gain = (factor: (typeof FACTORS)[number]) => now[factor] * (factor === 'semantic_similarity' ? scale : 1);
  const worth = (factor: (typeof FACTORS)[number]) => (before[factor] === 0 ? Infinity : gain(factor) / before[factor]);
  let left = budget;
  let score = 0;
  for (const factor of FACTORS.toSorted((a, b) => worth(b) - worth(a))) {
    const value = before[factor] === 0 ? most[factor] : Math.min(most[factor], left / before[factor]);
    left -= value * before[factor];
    score += value * gain(factor);
  }
  return Math.min(1, score);
}

/**
 * By how much similarities grow when only some of the recorded are left: the nearest of them counts as 1 then (R17). Null:
 * somebody outside the record is nearer than all of them, so nothing can be said.
 */
export function growthOfSimilarity(
  offers: readonly OfferFacts[],
  left: readonly OfferFacts[],
  { factors }: Unrecorded,
): number | null {
  const nearest = (some: readonly OfferFacts[]) => Math.max(...some.map(({ match }) => match?.closeness ?? -Infinity));
  const fitting = offers.filter(({ held_by }) => held_by === undefined);
  const [before, now] = [nearest(fitting), nearest(left)];
  if (before === -Infinity) return 1;
  const remaining = Math.exp(now - before);
  return factors.semantic_similarity > remaining ? null : 1 / remaining;
}
