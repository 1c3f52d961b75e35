import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import type { BrokerPlace, EgressPolicy } from '../../policy/egress';
import {
  callKey,
  messageFields,
  QUEUE_GROUP,
  readReply,
  repliesKey,
  type QueueMessage,
} from '../../protocol/queue-wire';
import { leavesReplica } from '../../protocol/redis-refusal';
import { END, PUBLISH, WITHDRAW } from '../../protocol/queue-wire-scripts';
import type { DispatcherOptions } from '../http/dispatcher';
import { guardedConnector } from './guarded-connector';

/** One Redis and the rights that we have there. */
export interface LinkOptions {
  place: BrokerPlace;
  username: string | undefined;
  password: string | undefined;
  egress: EgressPolicy;
  counting: Counting;
}

/** Told of calls, new connections and failed connects, each with `redis://host:port`. */
export type Counting = Pick<DispatcherOptions, 'onRequest' | 'onConnect' | 'onConnectFailed'>;

/** A call as its entry in the queue is named. */
export interface Posted {
  queue: string;
  id: string;
  entry: string;
}

/** Who waits for a call's replies. */
export interface Listener {
  queue: string;
  id: string;
  reply: (reply: NonNullable<ReturnType<typeof readReply>>) => void;
  /** Nobody will answer any more; `why` goes on from "The queue's Redis". */
  lost: (why: string) => void;
}

interface Scripts {
  reachPublish(queue: string, call: string, ttlMs: number, ...fields: string[]): Promise<string>;
  reachWithdraw(queue: string, call: string, group: string, entry: string): Promise<'withdrawn' | 'taken' | 'gone'>;
  reachEnd(queue: string, call: string, group: string, entry: string): Promise<number>;
}

const CONNECT_TIMEOUT_MS = 2_000;
const COMMAND_TIMEOUT_MS = 3_000;
/** Longest pause before the connection is tried again, ms, ±50 %. */
const MAX_RECONNECT_MS = 500;
/** A read that finds nothing comes back after so long, which also shows that the connection lives, ms. */
const BLOCK_MS = 5_000;
/** A connection on which nothing came for so long, while something was due, is dead, ms. */
const SILENCE_MS = 12_000;
const BATCH = 64;
/** Pause after a failed read, ms, ±50 %. */
const READ_AGAIN_MS = 100;
/** Pause before another look at what a restarted Redis still knows, ms. */
const LOOK_AGAIN_MS = 500;

/**
 * This process's connections to one broker: one for commands, one that waits for replies, shared by all calls. The library sends
 * nothing twice by itself, so that a publication whose connection broke is told as such.
 */
export class BrokerLink {
  readonly replyTo = repliesKey(randomUUID());
  readonly #commands: Redis & Scripts;
  readonly #reader: Redis;
  readonly #listeners = new Map<string, Listener>();
  #read = '0';
  #reading: Promise<void> | undefined;
  #wasReady = false;
  #isClosed = false;

  constructor(private readonly options: LinkOptions) {
    const { counting } = options;
    this.#commands = new Redis({
      ...common(options),
      commandTimeout: COMMAND_TIMEOUT_MS,
      reconnectOnError: (error) => leavesReplica(error) && this.#leave(),
      scripts: {
        reachPublish: { lua: PUBLISH, numberOfKeys: 2 },
        reachWithdraw: { lua: WITHDRAW, numberOfKeys: 2 },
        reachEnd: { lua: END, numberOfKeys: 2 },
      },
    } as RedisOptions) as Redis & Scripts;
    this.#reader = new Redis({ ...common(options), socketTimeout: SILENCE_MS });
    for (const each of [this.#commands, this.#reader]) each.on('error', () => undefined); // each command tells of it
    this.#commands.setMaxListeners(0); // each call that waits for a connection listens to it
    // What was read is removed, so that reading from the beginning is right even where Redis's clock was set back.
    this.#reader.on('ready', () => (this.#read = '0'));
    this.#commands.on('error', () => this.#commands.status !== 'ready' && counting.onConnectFailed?.(this.#origin));
    this.#commands.on('ready', () => {
      counting.onConnect?.(this.#origin);
      if (this.#wasReady) void this.#lookForLost();
      this.#wasReady = true;
    });
  }

  /** Calls that wait for a reply. */
  get waiting(): number {
    return this.#listeners.size;
  }

  /** Waits for a connection, or for what keeps us from one. @throws what the connection failed with, or the signal's reason */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.#commands.status === 'ready') return;
    if (this.#commands.status === 'wait') this.#commands.connect().catch(() => undefined);
    await once(this.#commands, 'ready', { signal }); // rejects with the next `error`
  }

  /** Hears the replies to one call, until the function that it returns is called. */
  listen(listener: Listener): () => void {
    this.#listeners.set(listener.id, listener);
    this.#reading ??= this.#readOn();
    return () => void this.#listeners.delete(listener.id);
  }

  /** Writes the call into its queue; it is wanted for `ttlMs`. */
  async publish(queue: string, message: QueueMessage, ttlMs: number): Promise<Posted> {
    const key = callKey(queue, message.id);
    this.options.counting.onRequest?.(this.#origin);
    const entry = await this.#commands.reachPublish(
      queue,
      key,
      Math.max(1, Math.floor(ttlMs)),
      ...messageFields(message),
    );
    return { queue, id: message.id, entry };
  }

  /** Takes the call back if nobody has taken it up. */
  withdraw({ queue, id, entry }: Posted): Promise<'withdrawn' | 'taken' | 'gone'> {
    return this.#commands.reachWithdraw(queue, callKey(queue, id), QUEUE_GROUP, entry);
  }

  /** Nobody waits for the call any more. */
  async end({ queue, id, entry }: Posted): Promise<void> {
    await this.#commands.reachEnd(queue, callKey(queue, id), QUEUE_GROUP, entry);
  }

  /** Closes the connections; calls that wait are ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const each of this.#listeners.values()) each.lost('was left, as this process ends');
    this.#commands.disconnect();
    this.#reader.disconnect();
    await this.#reading;
  }

  /** Reading is allowed on a replica too: only the refused command tells that the reader must go as well. */
  #leave(): true {
    if (this.#reader.status === 'ready') this.#reader.disconnect(true);
    return true;
  }

  get #origin(): string {
    const { host, port, tls } = this.options.place;
    return `${tls ? 'rediss' : 'redis'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  async #readOn(): Promise<void> {
    while (!this.#isClosed) {
      try {
        if (this.#reader.status === 'wait') await this.#reader.connect();
        const block = ['BLOCK', BLOCK_MS] as const;
        const found = await this.#reader.xreadBuffer('COUNT', BATCH, ...block, 'STREAMS', this.replyTo, this.#read);
        const ids = this.#deliver(found);
        this.#read = ids.at(-1) ?? this.#read;
        if (ids.length > 0) void this.#commands.xdel(this.replyTo, ...ids).catch(() => undefined);
      } catch {
        // Whatever came meanwhile is still there when the connection is back.
        if (!this.#isClosed) await sleep(READ_AGAIN_MS * (0.5 + Math.random()), undefined, { ref: false });
      }
    }
  }

  /** Hands out what was read; what nobody waits for is a late duplicate. Answers the ids. */
  #deliver(found: Awaited<ReturnType<Redis['xreadBuffer']>>): string[] {
    const entries = (found?.[0]?.[1] ?? []) as [Buffer, Buffer[]][];
    for (const [, fields] of entries) {
      const reply = readReply(fields);
      if (reply) this.#listeners.get(reply.id)?.reply(reply);
    }
    return entries.map(([id]) => String(id));
  }

  /** After a reconnection: a Redis that came back without its data will never answer what it had. */
  async #lookForLost(): Promise<void> {
    while (this.#listeners.size > 0 && this.#commands.status === 'ready') {
      try {
        const suspects = [...this.#listeners.values()];
        const known = await Promise.all(suspects.map(({ queue, id }) => this.#commands.exists(callKey(queue, id))));
        // The key goes with the answer: whoever was answered meanwhile is not lost.
        this.#deliver(await this.#commands.xreadBuffer('COUNT', 10_000, 'STREAMS', this.replyTo, this.#read));
        suspects.forEach((each, index) => {
          if (known[index] === 0 && this.#listeners.get(each.id) === each) each.lost('came back without its data');
        });
        return;
      } catch {
        await sleep(LOOK_AGAIN_MS, undefined, { ref: false });
      }
    }
  }
}

function common({ place, username, password, egress }: LinkOptions): RedisOptions {
  return {
    Connector: guardedConnector(place, egress),
    db: place.database,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    lazyConnect: true,
    // Nothing is kept until there is a connection, and nothing sent twice: a call learns at once how it stands.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A user of the queue need not be allowed to ask for INFO.
    enableReadyCheck: false,
    retryStrategy: (n) => Math.min(n * 100, MAX_RECONNECT_MS) * (0.5 + Math.random()),
  };
}
