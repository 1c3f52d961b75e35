/** The router with what it compares meaning by: embeddings where there are any, else words. */
import { v7 as uuidv7 } from 'uuid';
import type { Logger } from 'pino';
import { secretOf, type Config } from './config';
import { createEmbedder, LexicalMatcher } from './embeddings';
import type { RegistryView } from './registry';
import { ReachError } from './protocol/reach-error';
import type { AbilityText } from './protocol/matching';
import { keepWarm, type VectorState } from './keep-warm';
import { Router, SemanticMatcher, type DecisionRecorder, type Matcher } from './routing';
import { comparerOf, type Comparer } from './routing/replay';

/** A router that keeps its vectors warm. */
export interface WarmRouter {
  router: Router;
  vectors(): VectorState;
  /**
   * Compares logged texts with what agents say now, and with `extra`; with another model where one is named.
   * @throws ReachError `invalid_request` for a model where no endpoint is configured
   */
  comparer(options: { model?: string; extra: readonly AbilityText[] }): ClosableComparer;
  close(): Promise<void>;
}

/** A comparer with what it holds open. */
interface ClosableComparer {
  compare: Comparer;
  close(): Promise<void>;
}

/** Builds the router on a view that has started. */
export function createRouter(
  config: Config,
  view: RegistryView,
  { logger, recorder }: { logger: Logger; recorder: DecisionRecorder },
): WarmRouter {
  const embedder = embedderOf(config);
  const matcher = matcherOf(config, embedder);
  // Ids that begin with their time: a decision is found in the log by it.
  const parts = { world: () => view.world(), matcher, newId: uuidv7, recorder };
  const router = new Router({ ...parts, config: routerConfig(config) });
  const warming = keepWarm({
    warm: () => router.warm(),
    agents: () => view.world().agents,
    onChange: (listener) => view.onChange(listener),
    logger,
  });
  return {
    router,
    vectors: () => (embedder === null ? 'lexical' : warming.state()),
    comparer({ model, extra }) {
      const known = router.texts();
      const texts = [...known, ...extra];
      if (model !== undefined) return otherModel(config, { model, texts });
      const keys = new Set(known.map(({ key }) => key));
      const isKnown = extra.every(({ key }) => keys.has(key));
      return { compare: comparerOf(isKnown ? matcher : trial(embedder, texts), texts), close: async () => undefined };
    },
    async close() {
      warming.stop();
      await embedder?.close();
    },
  };
}

function embedderOf(config: Config) {
  const { embeddings } = config;
  if (!embeddings.url) return null;
  const apiKey = secretOf('embeddings.api_key_env', config);
  return createEmbedder({
    url: embeddings.url,
    model: embeddings.model,
    timeoutMs: embeddings.timeout,
    ...(apiKey && { apiKey }),
    ...(embeddings.cache_file && { cacheFile: embeddings.cache_file }),
    ...(embeddings.input_type === 'query' && { inputType: 'query' as const }),
  });
}

/** How long a replay waits for vectors that nobody has asked for before, ms. */
const REPLAY_PATIENCE_MS = 30_000;

function otherModel(config: Config, { model, texts }: { model: string; texts: AbilityText[] }): ClosableComparer {
  // Its vectors are nobody else's: they stay out of the cache file.
  const tried = { model, timeout: REPLAY_PATIENCE_MS, cache_file: undefined };
  const embedder = embedderOf({ ...config, embeddings: { ...config.embeddings, ...tried } });
  if (embedder === null)
    throw new ReachError('invalid_request', 'No embedding endpoint is configured, so there is no other model to try', {
      errors: [{ pointer: '/changes/embeddings', message: 'needs an endpoint', fix: 'set embeddings.url' }],
    });
  const matcher = new SemanticMatcher({ embedder, fallback: new LexicalMatcher(), patienceMs: REPLAY_PATIENCE_MS });
  return { compare: comparerOf(matcher, texts, { strict: true }), close: () => embedder.close() };
}

/** For agents that are only tried: fit and rarity are measured over all that a matcher knows, and requests have the other one. */
function trial(embedder: ReturnType<typeof embedderOf>, texts: readonly AbilityText[]): Matcher {
  const fallback = new LexicalMatcher();
  const matcher = embedder ? new SemanticMatcher({ embedder, fallback, patienceMs: REPLAY_PATIENCE_MS }) : fallback;
  // Comparisons wait for it, and what fails here fails them too.
  void matcher.prepare(texts).catch(() => undefined);
  return matcher;
}

function matcherOf({ embeddings }: Config, embedder: ReturnType<typeof embedderOf>): Matcher {
  const fallback = new LexicalMatcher();
  return embedder ? new SemanticMatcher({ embedder, fallback, patienceMs: embeddings.timeout }) : fallback;
}

function routerConfig({ router }: Config) {
  return {
    defaultStrategy: router.default_strategy,
    fallbackStrategy: router.fallback_strategy,
    enabledFactors: router.enabled_factors,
    weights: router.weights,
    instanceWeights: router.instance_weights,
    rules: router.rules,
    exploration: router.exploration,
    openMatch: { minFit: router.open_match.min_fit, minConfidence: router.open_match.min_confidence },
  };
}
