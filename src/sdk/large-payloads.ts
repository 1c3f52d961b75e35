import { createHash } from 'node:crypto';
import { chunksOf, MAX_CHUNK_BYTES } from '../protocol/payload-ref';
import type { JsonObject } from '../protocol/shapes';
import type { Budget } from './time';
import type { Transport } from './transport';

/** Chunks that are on their way at once. */
const PARALLEL = 4;
/** For one chunk, ms: on a slow line a chunk may take a while, and what is lost is sent again. */
const CHUNK_TIMEOUT_MS = 30_000;
/** For completing and for fetching, ms: the gateway reads the whole payload. */
const WHOLE_TIMEOUT_MS = 60_000;

/** Moves payloads that are too large for a message (R8), so that neither callers nor agents see that they were in parts. */
export class LargePayloads {
  constructor(private readonly transport: Transport) {}

  /**
   * Uploads content under a message id and returns its reference. Repeating it sends what is missing.
   *
   * @param budget for the whole of it; without one only each request is limited
   */
  async upload(content: Uint8Array, messageId: string, signal?: AbortSignal, budget?: Budget): Promise<string> {
    const within = (ms: number) => Math.min(ms, budget?.remainingMs ?? Infinity);
    const path = `/v1/payloads/${encodeURIComponent(messageId)}`;
    const left = chunksOf(content);
    const send = async () => {
      // All of them take from the same cut: whoever is done sends the next chunk.
      for (const { sequence, bytes } of left) {
        const chunk = `${path}/chunks/${sequence}`;
        await this.transport.request({
          method: 'PUT',
          path: chunk,
          body: bytes,
          signal,
          timeoutMs: within(CHUNK_TIMEOUT_MS),
          retry: 'always',
        });
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, send));
    const chunks = Math.ceil(content.byteLength / MAX_CHUNK_BYTES);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const { body } = await this.transport.request<{ payload_ref: string }>({
      method: 'POST',
      path: `${path}:complete`,
      body: { chunks, sha256 },
      signal,
      timeoutMs: within(WHOLE_TIMEOUT_MS),
      retry: 'always',
    });
    return body.payload_ref;
  }

  /** The content of a reference. */
  async fetch(ref: string, signal?: AbortSignal): Promise<JsonObject> {
    const path = `/v1/payloads/${encodeURIComponent(ref)}`;
    const { body } = await this.transport.request<JsonObject>({
      method: 'GET',
      path,
      signal,
      timeoutMs: WHOLE_TIMEOUT_MS,
      retry: 'always',
    });
    return body;
  }
}

/** The value as compact JSON in UTF-8 when it takes more than `limitBytes`; null when it does not. */
export function compactOver(value: object, limitBytes: number): Buffer | null {
  const text = JSON.stringify(value);
  // A UTF-16 unit takes at most three bytes, so that most texts need not be counted.
  if (text.length * 3 <= limitBytes || Buffer.byteLength(text) <= limitBytes) return null;
  return Buffer.from(text);
}
