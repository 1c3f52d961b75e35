/**
 * Embedded engines: finds or installs the Temporal development server, etcd and the embedding server, runs them on
 * loopback, and never lets them outlive this process. For development, demos and tests; production has its own.
 */
export { engineCacheDir } from './cache';
export { startEmbeddings, type EmbeddingsOptions } from './embeddings';
export {
  EngineError,
  EngineInstallError,
  EngineNotFoundError,
  EnginePortError,
  EngineStartError,
  EngineUnsupportedError,
} from './errors';
export { startEtcd, type EtcdOptions } from './etcd';
export { ensureEngine, locateEngine } from './locate';
export { embeddingsSupported } from './platform';
export { progressReporter } from './progress';
export { startTemporal, type TemporalOptions } from './temporal';
export type { SearchAttributeType } from './temporal-namespace';
export type {
  EngineExit,
  EngineName,
  EngineProgress,
  EngineSource,
  EnsureOptions,
  LocatedEngine,
  LocateOptions,
  OnEngineProgress,
  RunningEngine,
} from './types';
