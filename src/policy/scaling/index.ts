/** Scaling hints (R35): how many instances an agent needs, and first of all why. Pure. */
export type { AbilityDemand, AgentFacts, ScalingSettings } from './facts';
export { percentiles, scalingHint, type Hint } from './hint';
export { offeredPerSec } from './load';
export { wordingOf } from './wording';
