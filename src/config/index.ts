export { adviceOn, MAX_RELIABILITY_WEIGHT, type ConfigAdvice } from './advice';
export { readConfigFile } from './file';
export {
  inactiveSettings,
  loadConfig,
  readSettings,
  withoutEngines,
  withoutOverrides,
  type ConfigSources,
} from './load';
export { isLoopback } from './loopback';
export { assertSecretsSet, secretOf } from './secrets';
export type { Config } from './schema';
