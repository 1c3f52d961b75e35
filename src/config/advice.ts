import type { Config } from './schema';

/** Above this share of the weights reliability keeps away the calls that would show that an agent is well again (R38). */
export const MAX_RELIABILITY_WEIGHT = 0.3;

/** A setting that is allowed and probably not what is wanted. */
export interface ConfigAdvice {
  /** `router.weights.reliability_score`. */
  setting: string;
  /** What follows from it, and what to do. */
  message: string;
}

/** What to think over in a configuration that is valid; told at start and by `doctor`. */
export function adviceOn({ router }: Pick<Config, 'router'>): ConfigAdvice[] {
  const advice: ConfigAdvice[] = [];
  const { weights, enabled_factors, exploration, default_strategy } = router;
  if (default_strategy !== 'score_based') return advice;
  const sum = enabled_factors.reduce((total, factor) => total + weights[factor], 0);
  const share = enabled_factors.includes('reliability_score') && sum > 0 ? weights.reliability_score / sum : 0;
  // Weights are scaled to sum to 1: 0.3 of 1.0000000000000002 is still 0.3.
  if (share > MAX_RELIABILITY_WEIGHT + 1e-9) {
    advice.push({
      setting: 'router.weights.reliability_score',
      message: `has ${share.toFixed(2)} of the weights, over ${MAX_RELIABILITY_WEIGHT}: an agent that had a bad time gets no calls by which it could show that it is well again; lower it to ${MAX_RELIABILITY_WEIGHT} or less`,
    });
  }
  if (exploration.rate === 0) {
    advice.push({
      setting: 'router.exploration.rate',
      message:
        'is 0: nobody but the winner is ever tried, so an agent that becomes better is not noticed; 0.1 is the default',
    });
  }
  return advice;
}
