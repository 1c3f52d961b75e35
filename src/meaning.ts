/** The router with what it compares meaning by: embeddings where there are any, else words. */
import type { Logger } from 'pino';
import type { Config } from './config';
import { createEmbedder, LexicalMatcher } from './embeddings';
import type { RegistryView } from './registry';
import { Router, SemanticMatcher, type Matcher } from './routing';

/** Whether agents are told apart by meaning: vectors computed, being computed, or words only. */
export type VectorState = 'ready' | 'warming' | 'lexical';

/** A router that keeps its vectors warm. */
export interface WarmRouter {
  router: Router;
  vectors(): VectorState;
  close(): Promise<void>;
}

/** Builds the router on a view that has started. */
export function createRouter(config: Config, view: RegistryView, logger: Logger): WarmRouter {
  const embedder = embedderOf(config);
  const matcher = matcherOf(config, embedder);
  const router = new Router({ world: () => view.world(), matcher, config: routerConfig(config) });
  const warming = keepWarm(router, view, logger);
  return {
    router,
    vectors: () => (embedder === null ? 'lexical' : warming.state()),
    async close() {
      warming.stop();
      await embedder?.close();
    },
  };
}

function embedderOf({ embeddings }: Config) {
  if (!embeddings.url) return null;
  const apiKey = embeddings.api_key_env === undefined ? undefined : process.env[embeddings.api_key_env];
  return createEmbedder({
    url: embeddings.url,
    model: embeddings.model,
    timeoutMs: embeddings.timeout,
    ...(apiKey && { apiKey }),
    ...(embeddings.cache_file && { cacheFile: embeddings.cache_file }),
    ...(embeddings.input_type === 'query' && { inputType: 'query' as const }),
  });
}

function matcherOf({ embeddings }: Config, embedder: ReturnType<typeof embedderOf>): Matcher {
  const fallback = new LexicalMatcher();
  return embedder ? new SemanticMatcher({ embedder, fallback, patienceMs: embeddings.timeout }) : fallback;
}

/** Computes the vectors of new descriptors as they appear, so that no request waits for them. Heartbeats change nothing. */
function keepWarm(router: Router, view: RegistryView, logger: Logger): { stop: () => void; state: () => VectorState } {
  let known: readonly unknown[] = [];
  let running = 0;
  let failed = false;
  const warm = () => {
    const descriptors = view.world().agents.map(({ descriptor }) => descriptor);
    if (descriptors.length === known.length && descriptors.every((descriptor, index) => descriptor === known[index]))
      return;
    known = descriptors;
    running += 1;
    router
      .warm()
      .then(
        () => (failed = false),
        (err: unknown) => {
          failed = true;
          logger.warn({ err }, 'vectors cannot be computed; routing by meaning is lexical for now');
        },
      )
      .finally(() => (running -= 1));
  };
  warm();
  return { stop: view.onChange(warm), state: () => (running > 0 ? 'warming' : failed ? 'lexical' : 'ready') };
}

function routerConfig({ router }: Config) {
  return {
    defaultStrategy: router.default_strategy,
    fallbackStrategy: router.fallback_strategy,
    enabledFactors: router.enabled_factors,
    weights: router.weights,
    instanceWeights: router.instance_weights,
    rules: router.rules,
  };
}
