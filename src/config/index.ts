export { adviceOn, MAX_RELIABILITY_WEIGHT, type ConfigAdvice } from './advice';
export { inactiveSettings, loadConfig, type ConfigSources } from './load';
export type { Config } from './schema';
