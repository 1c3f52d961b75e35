import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../protocol/payload-ref';
import { ReachError } from '../protocol/reach-error';
import { ByteBudget } from './byte-budget';
import type { ThreadAnswer, ThreadTask } from './read-thread';
import { readContent, type ReadFindings, type ReadOrder } from './reading';

/** What is smaller takes a few milliseconds to read, about as long as it takes to wake a thread, bytes. */
const IN_PLACE_BYTES = 524_288;
/** A thread that has nothing to do gives its memory back after this time, ms. */
const IDLE_MS = 2_000;
/** After reading more than this a thread ends at once: its heap is worth more than the time to start another, bytes. */
const HUGE_BYTES = 4_194_304;
/** More than the largest payload takes to read, with as many values as one may have, MiB. */
const HEAP_MB = 2_048;
/** The compiled thread; where the sources run as they are (tests), everything is read in place. */
const THREAD = join(__dirname, 'read-thread.js');

interface Waiting {
  resolve: (read: Read) => void;
  reject: (error: Error) => void;
}

/** The content as it came, and what was found in it. */
export type Read = ReadFindings & { content: Buffer };

/**
 * Reads large payloads off the event loop: a thread hashes, parses and checks them while the process goes on answering. One
 * thread, started when it is needed, so that many large payloads at once take turns instead of memory.
 */
export class PayloadReader {
  private thread: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private nextId = 1;
  private idle: NodeJS.Timeout | undefined;
  /** What is fetched to be read is fetched only within it, and leaves it once it was read. */
  readonly memory: ByteBudget;

  /** @param memoryBytes how much may wait to be read at once, bytes: the largest payload, or many small ones */
  constructor(
    private readonly entry: string | null = existsSync(THREAD) ? THREAD : null,
    memoryBytes = DEFAULT_MAX_PAYLOAD_BYTES,
  ) {
    this.memory = new ByteBudget(memoryBytes);
  }

  /**
   * Reads `content`, which must not be used by the caller meanwhile and comes back with the answer.
   * @throws ReachError what {@link readContent} throws
   */
  async read(content: Buffer, order: ReadOrder): Promise<Read> {
    if (this.entry === null || content.byteLength <= IN_PLACE_BYTES) return { content, ...readContent(content, order) };
    const own = ownsItsMemory(content) ? content : Buffer.from(new Uint8Array(content).buffer);
    return this.ask(own, order);
  }

  /** Ends the thread; what it is at fails. */
  async close(): Promise<void> {
    clearTimeout(this.idle);
    await this.thread?.terminate();
  }

  private ask(content: Buffer, order: ReadOrder): Promise<Read> {
    clearTimeout(this.idle);
    const thread = (this.thread ??= this.start());
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      thread.ref();
      thread.postMessage({ id, content, order } satisfies ThreadTask, [content.buffer as ArrayBuffer]);
    });
  }

  private start(): Worker {
    const thread = new Worker(this.entry ?? THREAD, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    thread.on('message', (answer: ThreadAnswer) => this.settle(answer));
    thread.on('error', (cause) => this.failed(thread, cause));
    thread.on('exit', () => this.failed(thread, new Error('the thread that reads payloads has ended')));
    return thread;
  }

  private settle(answer: ThreadAnswer): void {
    const waiting = this.waiting.get(answer.id);
    this.waiting.delete(answer.id);
    const { buffer, byteOffset, byteLength } = answer.content;
    const content = Buffer.from(buffer, byteOffset, byteLength);
    if ('found' in answer) waiting?.resolve({ content, ...answer.found });
    else waiting?.reject(ReachError.fromProblem(answer.problem));
    if (this.waiting.size > 0) return;
    this.thread?.unref();
    if (byteLength > HUGE_BYTES) void this.rest();
    else this.idle = setTimeout(() => void this.rest(), IDLE_MS).unref();
  }

  private async rest(): Promise<void> {
    const { thread } = this;
    if (this.waiting.size > 0 || !thread) return;
    this.thread = undefined;
    await thread.terminate();
  }

  private failed(thread: Worker, cause: Error): void {
    if (this.thread !== thread) return;
    this.thread = undefined;
    const error = new ReachError('internal', 'The payload could not be read; try again', { cause });
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

function ownsItsMemory({ buffer, byteOffset, byteLength }: Buffer): boolean {
  return buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength;
}
