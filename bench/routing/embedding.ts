/** Where the vectors of an evaluation come from: an endpoint that is given, else the embedded server; kept on disk. */
import { join } from 'node:path';
import { createEmbedder } from '../../src/embeddings';
import { embeddingsSupported, engineCacheDir, startEmbeddings } from '../../src/engines';
import type { Embedder } from '../../src/protocol/matching';

const DEFAULT_MODEL = 'multilingual-e5-small';
/** A busy machine must not turn an evaluation into one of the fallback. */
const TIMEOUT_MS = 60_000;

export interface EmbeddingOptions {
  /** Base URL of an OpenAI-compatible endpoint. Default: the embedded server. */
  url?: string;
  model?: string;
  /** Vectors outlive the run here. Default: in the engines' cache folder. */
  cacheFile?: string;
}

export interface EmbeddingSource {
  /** Null where no embeddings can be had. */
  embedder: Embedder | null;
  /** The model, or why there is none. */
  model: string;
  close(): Promise<void>;
}

/** @throws EngineError when the embedded server cannot be started here although it could be */
export async function openEmbedding({ url, model, cacheFile }: EmbeddingOptions): Promise<EmbeddingSource> {
  const { supported, reason } = embeddingsSupported();
  if (url === undefined && !supported) return { embedder: null, model: `none (${reason})`, close: async () => {} };
  const server = url === undefined ? await startEmbeddings() : null;
  const embedder = createEmbedder({
    url: url ?? server!.address,
    model: model ?? DEFAULT_MODEL,
    ...(url === undefined && { inputType: 'query' as const }),
    timeoutMs: TIMEOUT_MS,
    cacheFile: cacheFile ?? join(engineCacheDir(), 'evaluation-vectors.bin'),
  });
  return {
    embedder,
    model: embedder.model,
    async close() {
      await embedder.close();
      await server?.stop();
    },
  };
}
