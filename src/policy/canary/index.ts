/** When a canary is worse than the stable version (R21): a sequential test with a bounded chance of error. Pure. */
export { LATENCY_SETTLE_MS, look, newTrial, observe, type Trial, type TrialSettings, type Verdict } from './trial';
export type { Counts } from './statistics';
