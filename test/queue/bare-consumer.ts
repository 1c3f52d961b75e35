import { Redis } from 'ioredis';
import {
  callKey,
  QUEUE_GROUP,
  readMessage,
  replyFields,
  type QueueMessage,
  type QueueVerdict,
} from '../../src/protocol/queue-wire';
import { DONE, KEEP, LEAVE, TAKE } from '../../src/protocol/queue-wire-scripts';

/** A message as a bare consumer has it. */
export interface Got {
  entry: string;
  fields: Map<string, string>;
  message: QueueMessage;
}

/**
 * A consumer that does nothing but what docs/queue-agents.md says of the wire, step by step, and nothing by itself: what an agent in
 * another language is made of, and what one leaves behind that was killed.
 */
export class BareConsumer {
  private readonly redis: Redis;

  constructor(
    url: string,
    private readonly queue: string,
    private readonly name: string,
    credentials: { username?: string; password?: string } = {},
  ) {
    this.redis = new Redis(url, { ...credentials, enableReadyCheck: false });
    this.redis.on('error', () => undefined);
  }

  /** Waits for the next message. */
  async next(): Promise<Got> {
    for (;;) {
      const got = await this.nextOrNone(1_000);
      if (got) return got;
    }
  }

  async nextOrNone(blockMs = 1): Promise<Got | null> {
    const group = ['GROUP', QUEUE_GROUP, this.name] as const;
    await this.redis.xgroup('CREATE', this.queue, QUEUE_GROUP, '0', 'MKSTREAM').catch((error: Error) => {
      if (!error.message.startsWith('BUSYGROUP')) throw error;
    });
    const found = (await this.redis.xreadgroup(...group, 'COUNT', 1, 'BLOCK', blockMs, 'STREAMS', this.queue, '>')) as
      [string, [string, string[]][]][] | null;
    const entry = found?.[0]?.[1][0];
    return entry ? asGot(entry) : null;
  }

  take({ entry, message }: Got): Promise<unknown> {
    const once = message.once ? '1' : '0';
    const reply = replyFields(this.from(message), { type: 'taken' });
    return this.redis.eval(TAKE, 3, ...this.keysOf(message), QUEUE_GROUP, entry, this.name, once, ...reply);
  }

  /** Positions of the calls that nobody waits for. */
  async keep({ entry, message }: Got): Promise<number[]> {
    const keys = [this.queue, callKey(this.queue, message.id)];
    return (await this.redis.eval(KEEP, 2, ...keys, QUEUE_GROUP, this.name, entry)) as number[];
  }

  done({ entry, message }: Got, verdict: QueueVerdict): Promise<unknown> {
    const reply = replyFields(this.from(message), verdict);
    return this.redis.eval(DONE, 3, ...this.keysOf(message), QUEUE_GROUP, entry, this.name, ...reply);
  }

  /** Takes over what was idle for so long. */
  async claim(idleMs: number): Promise<Got[]> {
    const answer = await this.redis.xautoclaim(this.queue, QUEUE_GROUP, this.name, idleMs, '0');
    return (answer[1] as [string, string[]][]).map(asGot);
  }

  async leave(): Promise<void> {
    await this.redis.eval(LEAVE, 1, this.queue, QUEUE_GROUP, this.name, 3_600_000);
  }

  close(): void {
    this.redis.disconnect();
  }

  private from({ id }: QueueMessage) {
    return { id, instance: this.name, receivedAt: new Date().toISOString() };
  }

  private keysOf({ id, replyTo }: QueueMessage): [string, string, string] {
    return [this.queue, callKey(this.queue, id), replyTo];
  }
}

function asGot([entry, list]: [string, string[]]): Got {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < list.length; at += 2) fields.set(list[at]!, list[at + 1]!);
  return { entry, fields, message: readMessage(list)! };
}
