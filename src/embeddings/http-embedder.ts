import { performance } from 'node:perf_hooks';
import { request, type Dispatcher } from 'undici';
import type { Embedder } from '../protocol/matching';
import { readVectors } from './wire';
import { VectorCache } from './vector-cache';

export interface EmbedderOptions {
  /** Base URL of an OpenAI-compatible endpoint, with its version: `https://host/v1`; `/embeddings` is added. */
  url: string;
  model: string;
  apiKey?: string;
  /** Asked of models that can shorten their vectors. */
  dimensions?: number;
  /** How long one text may take, ms; a batch gets {@link BATCH_TEXT_MS} more for each further text. Default 1500. */
  timeoutMs?: number;
  /** Where vectors outlive a restart; without it they live in memory only. */
  cacheFile?: string;
  /** Pool to send through; default undici's global one. */
  dispatcher?: Dispatcher;
  /** Sent as `input_type`, for models that tell queries from passages. Texts are compared with texts, so all are queries. */
  inputType?: 'query';
  /** Texts sent at once. Default 16: a live query must not wait long behind a warm-up. */
  batchSize?: number;
  /** For how long the endpoint is left alone after a failure, ms. Default 5000. */
  coolOffMs?: number;
  /** Monotonic clock, ms. */
  now?: () => number;
}

/** An embedder that holds resources. */
export interface HttpEmbedder extends Embedder {
  /** Waits for the cache file to be written. */
  close(): Promise<void>;
}

const BATCH_TEXT_MS = 500;

/** Creates the embedder for an OpenAI-compatible endpoint: cached, each text asked for once, cooling off after a failure. */
export function createEmbedder(options: EmbedderOptions): HttpEmbedder {
  return new CachedHttpEmbedder(options);
}

class CachedHttpEmbedder implements HttpEmbedder {
  readonly kind = 'dense';
  readonly model: string;
  private readonly cache: VectorCache;
  private readonly underWay = new Map<string, Promise<Float32Array>>();
  private readonly now: () => number;
  private coolUntil = -Infinity;

  constructor(private readonly options: EmbedderOptions) {
    this.model = options.model;
    this.now = options.now ?? (() => performance.now());
    const { model, dimensions, inputType } = options;
    this.cache = new VectorCache({
      model: [model, dimensions ?? '', inputType ?? ''].join(' '),
      file: options.cacheFile,
    });
  }

  /** @throws Error when the endpoint fails, is too slow, answers nonsense, or is being left alone after a failure. */
  async embed(texts: string[]): Promise<Float32Array[]> {
    await this.cache.load();
    const wanted = new Map<string, Promise<Float32Array>>();
    const missing: string[] = [];
    for (const text of new Set(texts)) {
      const cached = this.cache.get(text);
      const known = cached ? Promise.resolve(cached) : this.underWay.get(text);
      if (known) wanted.set(text, known);
      else missing.push(text);
    }
    this.askFor(missing).forEach((vector, i) => wanted.set(missing[i]!, vector));
    return Promise.all(texts.map((text) => wanted.get(text)!));
  }

  async close(): Promise<void> {
    await this.cache.close();
  }

  /** One promise for each text; batches are sent one after the other. */
  private askFor(texts: string[]): Promise<Float32Array>[] {
    const { batchSize = 16 } = this.options;
    const vectors: Promise<Float32Array>[] = [];
    let before: Promise<unknown> = Promise.resolve();
    for (let start = 0; start < texts.length; start += batchSize) {
      const batch = texts.slice(start, start + batchSize);
      const answer = before.then(() => this.ask(batch));
      before = answer;
      batch.forEach((text, i) =>
        vectors.push(
          this.track(
            text,
            answer.then((all) => all[i]!),
          ),
        ),
      );
    }
    return vectors;
  }

  private track(text: string, vector: Promise<Float32Array>): Promise<Float32Array> {
    this.underWay.set(text, vector);
    // The caller sees the failure; this branch only clears up, whatever happens.
    const clear = () => this.underWay.delete(text);
    vector.then(clear, clear);
    return vector;
  }

  private async ask(texts: string[]): Promise<Float32Array[]> {
    if (this.now() < this.coolUntil) throw new Error('the embeddings endpoint failed a moment ago and is left alone');
    try {
      const vectors = readVectors(await this.post(texts), texts.length);
      this.cache.set(texts, vectors);
      return vectors;
    } catch (cause) {
      this.coolUntil = this.now() + (this.options.coolOffMs ?? 5000);
      throw new Error(`the embeddings endpoint cannot be used: ${describe(cause)}`, { cause });
    }
  }

  private async post(texts: string[]): Promise<unknown> {
    const { url, model, apiKey, dimensions, inputType, timeoutMs = 1500, dispatcher } = this.options;
    const { statusCode, body } = await request(`${url.replace(/\/+$/, '')}/embeddings`, {
      method: 'POST',
      dispatcher,
      signal: AbortSignal.timeout(timeoutMs + (texts.length - 1) * BATCH_TEXT_MS),
      headers: { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) },
      body: JSON.stringify({ model, input: texts, encoding_format: 'float', dimensions, input_type: inputType }),
    });
    if (statusCode !== 200) {
      await body.dump();
      throw new Error(`status ${statusCode}`);
    }
    return body.json();
  }
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : 'unknown failure';
}
