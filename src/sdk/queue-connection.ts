import { Redis, type RedisOptions } from 'ioredis';
import type { QueuePlace } from '../protocol/queue-endpoint';
import {
  callKey,
  isOfOtherVersion,
  loggable,
  QUEUE_GROUP,
  readMessage,
  replyFields,
  type QueueMessage,
  type QueueVerdict,
} from '../protocol/queue-wire';
import { isReply, leavesReplica, refusalWord } from '../protocol/redis-refusal';
import { DONE, KEEP, LEAVE, TAKE } from '../protocol/queue-wire-scripts';
import { ReachError } from '../protocol/reach-error';
import type { QueueHostOptions } from './agent-types';
import { monotonic, sleep } from './time';

/** An entry that was given to this consumer. `message` is null where it is no call that this release can read. */
export interface QueueEntry {
  entry: string;
  message: QueueMessage | null;
  /** Of another version of the protocol: not ours to take, nor to throw away. */
  isForeign: boolean;
}

/** A call in hand. */
export interface HeldCall {
  entry: string;
  message: QueueMessage;
  /** When it was taken up, ISO 8601. */
  receivedAt: string;
}

/** What came of taking a call up: its time in ms, or why it is not to be worked on. */
export type Taken =
  { kind: 'taken' | 'poison'; leftMs: number; deliveries: number } | { kind: 'gone' } | { kind: 'lost' };

interface Scripts {
  reachTake(...args: (string | number)[]): Promise<['taken' | 'poison', number, number] | ['gone' | 'lost']>;
  reachKeep(keys: number, ...args: string[]): Promise<number[]>;
  reachDone(...args: string[]): Promise<'done' | 'gone' | 'lost'>;
  reachLeave(...args: (string | number)[]): Promise<number>;
}

/** Where to connect, and as whom. */
export interface QueueConnectionParts {
  place: QueuePlace;
  /** Name of the consumer: the instance's id. */
  consumer: string;
  options: QueueHostOptions;
}

const CONNECT_TIMEOUT_MS = 2_000;
const COMMAND_TIMEOUT_MS = 3_000;
/** Longest pause before a connection is tried again, ms, ±50 %: agents that lost their Redis together do not come back together. */
const MAX_RECONNECT_MS = 1_000;
/** A read that finds nothing comes back after so long, ms. */
const BLOCK_MS = 5_000;
/** A connection on which nothing came for so long, while something was due, is dead, ms. */
const SILENCE_MS = 12_000;
const RETRY_MS = 200;
/** Consumers that did nothing for so long are gone, ms. */
const FORGOTTEN_MS = 3_600_000;

/** One consumer's connections to its queue: one for commands, one that waits for messages. */
export class QueueConnection {
  readonly #queue: string;
  readonly #consumer: string;
  readonly #commands: Redis & Scripts;
  readonly #reader: Redis;
  /** Redis's number of the reading connection. */
  #readerId: number | undefined;
  /** Where the next look for dropped messages begins. */
  #claimFrom = '0-0';

  constructor({ place, consumer, options }: QueueConnectionParts) {
    this.#queue = place.queue;
    this.#consumer = consumer;
    const address = options.address ?? place.address;
    const common: RedisOptions = {
      username: options.username ?? place.username,
      password: options.password,
      tls: options.tls,
      lazyConnect: true,
      connectTimeout: CONNECT_TIMEOUT_MS,
      enableReadyCheck: false,
      // Whether something was carried out before the connection broke is for us to find out, and nothing waits for the next one.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      reconnectOnError: leavesReplica,
      retryStrategy: (n) => Math.min(n * 100, MAX_RECONNECT_MS) * (0.5 + Math.random()),
    };
    const scripts = {
      reachTake: { lua: TAKE, numberOfKeys: 3 },
      reachKeep: { lua: KEEP },
      reachDone: { lua: DONE, numberOfKeys: 3 },
      reachLeave: { lua: LEAVE, numberOfKeys: 1 },
    };
    const own = { commandTimeout: COMMAND_TIMEOUT_MS, scripts } as RedisOptions;
    this.#commands = new Redis(address, { ...withoutUndefined(common), ...own }) as Redis & Scripts;
    this.#reader = new Redis(address, { ...withoutUndefined(common), socketTimeout: SILENCE_MS });
    for (const each of [this.#commands, this.#reader]) each.on('error', () => undefined); // each command tells of it
    this.#reader.on('ready', () => void this.#learnId());
  }

  /**
   * Connects and makes the group. Waits for a Redis that is not there yet.
   *
   * @throws ReachError `engine_unavailable`, `unauthorized`, `forbidden`; the signal's reason
   */
  async open(withinMs: number, signal: AbortSignal): Promise<void> {
    const endsAtMs = monotonic() + withinMs;
    let refused: unknown;
    const heard = (error: unknown) => void (refused = error);
    this.#commands.on('error', heard);
    try {
      for (;;) {
        try {
          if (this.#commands.status === 'wait') await this.#commands.connect();
          return await this.makeGroup();
        } catch (caught) {
          const cause = isReply(caught) ? caught : (refused ?? caught);
          if (isReply(cause)) throwIfHopeless(cause);
          if (monotonic() + RETRY_MS > endsAtMs) throw unreachable(cause);
          await sleep(RETRY_MS * (0.5 + Math.random()), signal);
        }
      }
    } finally {
      this.#commands.off('error', heard);
    }
  }

  /** Makes queue and group where they are not: from the beginning, so that what was published before is found. */
  async makeGroup(): Promise<void> {
    await this.#commands.xgroup('CREATE', this.#queue, QUEUE_GROUP, '0', 'MKSTREAM').catch((caught: unknown) => {
      if (!isReply(caught) || !caught.message.startsWith('BUSYGROUP')) throw caught;
    });
  }

  /** Waits a while for new messages, at most `count`. */
  async next(count: number): Promise<QueueEntry[]> {
    if (this.#reader.status === 'wait') await this.#reader.connect();
    const group = ['GROUP', QUEUE_GROUP, this.#consumer] as const;
    const found = await this.#reader.xreadgroup(
      ...group,
      'COUNT',
      count,
      'BLOCK',
      BLOCK_MS,
      'STREAMS',
      this.#queue,
      '>',
    );
    const [stream] = (found ?? []) as [string, [string, string[]][]][];
    return (stream?.[1] ?? []).map(asEntry);
  }

  /** Ends a `next` that waits; what it has found already it returns. */
  async wake(): Promise<void> {
    if (this.#readerId !== undefined) await this.#commands.client('UNBLOCK', this.#readerId);
  }

  /**
   * Takes over messages whose holders gave no sign for `idleMs`, at most `count`. Redis looks at ten times as many at once and says
   * where it stopped (`0-0` at the end): the next look goes on from there, else what lies behind many live ones is never found.
   */
  async claim(idleMs: number, count: number): Promise<QueueEntry[]> {
    const group = [QUEUE_GROUP, this.#consumer] as const;
    const answer = await this.#commands.xautoclaim(this.#queue, ...group, idleMs, this.#claimFrom, 'COUNT', count);
    this.#claimFrom = String(answer[0]);
    const entries = answer[1] as ([string, string[]] | null)[];
    return entries.flatMap((entry) => (entry?.[1] ? [asEntry(entry)] : []));
  }

  /** Takes a call up, in one step with telling the platform. */
  async take(held: HeldCall): Promise<Taken> {
    const { entry, message } = held;
    const fields = replyFields({ ...held, id: message.id, instance: this.#consumer }, { type: 'taken' });
    const once = message.once ? '1' : '0';
    const answer = await this.#commands.reachTake(
      ...this.#keysOf(message),
      QUEUE_GROUP,
      entry,
      this.#consumer,
      once,
      ...fields,
    );
    const [kind, leftMs = 0, deliveries = 0] = answer;
    return kind === 'taken' || kind === 'poison' ? { kind, leftMs, deliveries } : { kind };
  }

  /** Tells that all of these are still worked on. Answers those that nobody waits for, or that others have now. */
  async keep(held: readonly HeldCall[]): Promise<HeldCall[]> {
    if (held.length === 0) return [];
    const keys = [this.#queue, ...held.map(({ message }) => callKey(this.#queue, message.id))];
    const entries = held.map(({ entry }) => entry);
    const over = await this.#commands.reachKeep(keys.length, ...keys, QUEUE_GROUP, this.#consumer, ...entries);
    return over.map((position) => held[position - 1]!);
  }

  /** Answers and acknowledges in one step. */
  done(held: HeldCall, verdict: QueueVerdict): Promise<'done' | 'gone' | 'lost'> {
    const { entry, message } = held;
    const fields = replyFields({ ...held, id: message.id, instance: this.#consumer }, verdict);
    return this.#commands.reachDone(...this.#keysOf(message), QUEUE_GROUP, entry, this.#consumer, ...fields);
  }

  /** Leaves a message to a consumer that can read it, as if it had never been given out. */
  async leave(entry: string): Promise<void> {
    const asNew = ['RETRYCOUNT', 0, 'JUSTID'] as const;
    await this.#commands.xclaim(this.#queue, QUEUE_GROUP, this.#consumer, 0, entry, ...asNew);
  }

  /** Takes what is no call out of the queue. */
  async discard(entry: string): Promise<void> {
    await this.#commands.xack(this.#queue, QUEUE_GROUP, entry);
    await this.#commands.xdel(this.#queue, entry);
  }

  /** Takes this consumer's name out of the group, and those of consumers that were lost long ago. */
  async forgetConsumers(): Promise<void> {
    await this.#commands.reachLeave(this.#queue, QUEUE_GROUP, this.#consumer, FORGOTTEN_MS);
  }

  close(): void {
    this.#commands.disconnect();
    this.#reader.disconnect();
  }

  /** A user may not be allowed to ask; then a drain waits for the end of the read. */
  async #learnId(): Promise<void> {
    this.#readerId = undefined;
    this.#readerId = await this.#reader.client('ID').catch(() => undefined);
  }

  #keysOf(message: QueueMessage): [string, string, string] {
    return [this.#queue, callKey(this.#queue, message.id), message.replyTo];
  }
}

function asEntry([entry, fields]: [string, string[]]): QueueEntry {
  return { entry, message: readMessage(fields), isForeign: isOfOtherVersion(fields) };
}

function throwIfHopeless(error: Error): void {
  const word = refusalWord(error);
  const auth = 'set `queue.password` (and `queue.username`) of the agent';
  if (word === 'NOAUTH' || word === 'WRONGPASS')
    throw new ReachError('unauthorized', `Redis does not let this agent in (${word}); ${auth}`, {
      cause: loggable(error),
    });
  if (word === 'NOPERM')
    throw new ReachError('forbidden', `Redis does not allow this user the queue: ${error.message}`, {
      cause: loggable(error),
    });
  if (word === 'WRONGTYPE')
    throw new ReachError(
      'invalid_descriptor',
      'The name of the queue is that of something else in this Redis; set endpoint.queue',
      {
        cause: loggable(error),
      },
    );
}

function unreachable(cause: unknown): ReachError {
  return new ReachError(
    'engine_unavailable',
    "The queue's Redis cannot be reached; set queue.address if the agent sees it elsewhere than endpoint.address says",
    { cause: loggable(cause) },
  );
}

function withoutUndefined(options: RedisOptions): RedisOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
