export { inactiveSettings, loadConfig, type ConfigSources } from './load';
export type { Config } from './schema';
