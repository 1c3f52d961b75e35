/**
 * `agent-reach/dedup-redis`: an agent's deduplication records on Redis, for volume.
 *
 * @example
 * ```ts
 * import { RedisDeduplicationStore } from 'agent-reach/dedup-redis';
 *
 * const deduplication = new RedisDeduplicationStore({ url: 'redis://10.0.0.6:6379/0', keyPrefix: 'refunds:done:' });
 * ```
 */
import { Redis } from 'ioredis';
import { MAX_PAYLOAD_BYTES } from '../../protocol/limits';
import type {
  DeduplicationBegin,
  DeduplicationBeginAnswer,
  DeduplicationComplete,
  DeduplicationCompleteAnswer,
} from '../../protocol/deduplication';
import { loggable } from '../../protocol/queue-wire';
import type { JsonObject } from '../../protocol/shapes';
import { BEGIN, COMPLETE } from './redis-scripts';
import type { DeduplicationStore } from './store';

export type { DeduplicationStore } from './store';

/** Longest one command may take, ms. */
const COMMAND_TIMEOUT_MS = 3_000;
/** Longest pause before the connection is tried again, ms. */
const MAX_RECONNECT_MS = 1_000;

/** How to reach Redis, and where to write. */
export interface RedisStoreOptions {
  /** `redis://[user:password@]host:port/db`, `rediss://` for TLS. */
  url: string;
  /** Put before each key. Agents that are to know of each other's work share it. Default `agent-reach:deduplication:`. */
  keyPrefix?: string;
}

/** The scripts as commands; the library makes them from its `scripts` option, which its types do not know. */
interface Scripts {
  reachBegin(key: string, fence: string, ttlMs: number): Promise<[status: string, output?: string]>;
  reachComplete(key: string, fence: string, ttlMs: number, output: string): Promise<[status: string, output?: string]>;
}

/**
 * One hash per business key, each operation one script, so that it is one step for everybody. Keeps outputs up to 1 MiB.
 * As durable as that Redis is: records that it loses (a failover, an eviction) are done again.
 */
export class RedisDeduplicationStore implements DeduplicationStore {
  readonly maxOutputBytes = MAX_PAYLOAD_BYTES;
  readonly #redis: Redis & Scripts;

  /** Connects when first used. */
  constructor({ url, keyPrefix = 'agent-reach:deduplication:' }: RedisStoreOptions) {
    this.#redis = new Redis(url, {
      keyPrefix,
      lazyConnect: true,
      commandTimeout: COMMAND_TIMEOUT_MS,
      maxRetriesPerRequest: 1,
      retryStrategy: (n) => Math.min(n * 100, MAX_RECONNECT_MS),
      scripts: { reachBegin: { lua: BEGIN, numberOfKeys: 1 }, reachComplete: { lua: COMPLETE, numberOfKeys: 1 } },
    }) as Redis & Scripts;
    this.#redis.on('error', () => undefined); // each command tells of it by itself
  }

  async begin({ key, fence, ttlMs }: DeduplicationBegin): Promise<DeduplicationBeginAnswer> {
    const [status, output] = await this.#redis.reachBegin(key, fence ?? '', ttlMs).catch(withoutCommand);
    if (status === 'done') return { status, output: JSON.parse(output ?? '') as JsonObject };
    return { status: status === 'free' ? 'free' : 'superseded' };
  }

  async complete({ key, fence, output, ttlMs }: DeduplicationComplete): Promise<DeduplicationCompleteAnswer> {
    const text = JSON.stringify(output);
    const [status, other] = await this.#redis.reachComplete(key, fence, ttlMs, text).catch(withoutCommand);
    if (status === 'recorded') return { status };
    return { status: 'superseded', output: other === undefined ? null : (JSON.parse(other) as JsonObject) };
  }

  /** Closes the connection. The agent does not do it: several may share a store. */
  close(): Promise<void> {
    this.#redis.disconnect();
    return Promise.resolve();
  }
}

/** The agent logs it, and the command that failed has the password or the whole output in its arguments. */
function withoutCommand(caught: unknown): never {
  throw loggable(caught);
}
