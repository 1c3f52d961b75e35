import {
  MAX_ETCD_OUTPUT_BYTES,
  type DeduplicationBegin,
  type DeduplicationBeginAnswer,
  type DeduplicationComplete,
  type DeduplicationCompleteAnswer,
} from '../../protocol/deduplication';
import { Transport } from '../transport';
import type { DeduplicationStore } from './store';

/** Longest one question to the gateway may take, ms: etcd's own limit of 3 s and the way there. */
const CALL_TIMEOUT_MS = 4_000;
/** Apart from the registration's connections, so that a busy agent's records never hold up its heartbeats. */
const MAX_CONNECTIONS = 16;

/** How to reach the platform's store. */
export interface PlatformStoreOptions {
  /** Base URL of the gateway. */
  url: string;
  apiKey?: string;
  agentName: string;
}

/**
 * The platform's own store, on its etcd behind the gateway: an agent needs no further address. Keeps outputs up to
 * 256 KiB. Rejects with `engine_unavailable` when gateway or etcd cannot be reached, `not_found` when the gateway has no
 * such store.
 */
export class PlatformDeduplicationStore implements DeduplicationStore {
  readonly maxOutputBytes = MAX_ETCD_OUTPUT_BYTES;
  readonly #transport: Transport;
  readonly #path: string;

  constructor({ agentName, ...gateway }: PlatformStoreOptions) {
    this.#transport = new Transport({ ...gateway, maxConnections: MAX_CONNECTIONS });
    this.#path = `/v1/agents/${encodeURIComponent(agentName)}/deduplication`;
  }

  begin({ key, fence, ttlMs }: DeduplicationBegin): Promise<DeduplicationBeginAnswer> {
    return this.#ask('begin', { key, fence, ttl_ms: ttlMs });
  }

  complete({ key, fence, output, ttlMs }: DeduplicationComplete): Promise<DeduplicationCompleteAnswer> {
    return this.#ask('complete', { key, fence, output, ttl_ms: ttlMs });
  }

  /** Cuts its connections; questions under way fail. */
  close(): Promise<void> {
    return this.#transport.destroy();
  }

  async #ask<Answer>(what: 'begin' | 'complete', body: object): Promise<Answer> {
    const { body: answer } = await this.#transport.request<Answer>({
      method: 'POST',
      path: `${this.#path}:${what}`,
      body,
      timeoutMs: CALL_TIMEOUT_MS,
      retry: 'never',
    });
    return answer;
  }
}
