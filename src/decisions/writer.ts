import { randomBytes } from 'node:crypto';
import type { ObjectStore } from '../payloads';
import type { LoggedDecision } from '../protocol/logged-decision';
import { segmentKey } from './keys';
import { packLines, SegmentSummary } from './segment';

/** A segment that is as large or as old is closed, and the next one begun: bytes compressed, ms. */
const SEGMENT_BYTES = 1_048_576;
export const SEGMENT_MS = 60_000;
/** A decision may be in a segment that was begun so much later than it was made, ms: it may have been completed late. */
export const LATE_MS = 10_000;
/** Written at once when so much has come since the last time, bytes as JSON. */
const FLUSH_BYTES = 1_048_576;
/** What the store has not taken yet; what comes beyond is dropped. Bytes as JSON. */
const PENDING_BYTES = 16_777_216;
/** While the store cannot be used it is tried at most this often, ms. */
const MAX_BACKOFF_MS = 30_000;

/** What is told of writing. */
export interface WriterEvents {
  written(decisions: number, bytes: number): void;
  dropped(decisions: number): void;
  /** Writing failed; told once for each time that the store goes away. */
  failing(error: unknown): void;
}

export interface WriterOptions {
  objects: Pick<ObjectStore, 'put'>;
  /** First segments of keys: tenant and kind. */
  area: string;
  madeBy: string;
  flushMs: number;
  monotonicMs: () => number;
  events: WriterEvents;
}

interface Pending {
  line: string;
  decision: LoggedDecision;
}

interface OpenSegment {
  key: string;
  /** Unix ms of its first decision. */
  startMs: number;
  parts: Buffer[];
  bytes: number;
  summary: SegmentSummary;
  sinceMs: number;
}

/**
 * Collects decisions and writes them a second later, all of a process in one object that grows until it is closed: the
 * whole of it is put again each time, so whoever reads it finds it whole, and a process that is killed loses what came
 * since the last time. Adding costs no waiting; nothing here ever throws at who adds.
 */
export class SegmentWriter {
  private pending: Pending[] = [];
  private pendingBytes = 0;
  private writing: readonly Pending[] = [];
  private flushing: Promise<boolean> | null = null;
  private open: OpenSegment | null = null;
  private timer: NodeJS.Timeout | null = null;
  private number = 0;
  private failures = 0;
  private closed = false;

  constructor(private readonly options: WriterOptions) {}

  add(decision: LoggedDecision): void {
    const line = JSON.stringify(decision);
    if (this.closed || this.pendingBytes + line.length > PENDING_BYTES) return this.options.events.dropped(1);
    this.pending.push({ line, decision });
    this.pendingBytes += line.length;
    if (this.pendingBytes >= FLUSH_BYTES && this.failures === 0) void this.flush();
    else this.schedule();
  }

  /** What is not in the store yet, oldest first. */
  unwritten(): LoggedDecision[] {
    return [...this.writing, ...this.pending].map(({ decision }) => decision);
  }

  get pendingCount(): number {
    return this.writing.length + this.pending.length;
  }

  /** Writes what there is. True when nothing is left behind. */
  async flush(): Promise<boolean> {
    if (this.flushing) return this.flushing;
    if (this.pending.length === 0) return true;
    this.flushing = this.write().finally(() => {
      this.flushing = null;
      if (this.pending.length > 0) this.schedule();
    });
    return this.flushing;
  }

  /** Writes what is left, as far as the store takes it within `patienceMs`, and takes nothing more. */
  async close(patienceMs: number): Promise<void> {
    this.closed = true;
    if (this.timer) clearTimeout(this.timer);
    const patience = new Promise<void>((resolve) => setTimeout(resolve, patienceMs).unref());
    const last = async () => {
      await this.flushing;
      while (this.pending.length > 0 && (await this.flush()));
    };
    await Promise.race([last(), patience]);
    if (this.pendingCount > 0) this.options.events.dropped(this.pendingCount);
  }

  private schedule(): void {
    if (this.timer || this.closed) return;
    const backoffMs = Math.min(MAX_BACKOFF_MS, this.options.flushMs * 2 ** Math.min(this.failures, 10));
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.flush();
    }, backoffMs);
    this.timer.unref();
  }

  private async write(): Promise<boolean> {
    const batch = this.takeBatch();
    this.writing = batch;
    try {
      await this.append(batch);
      this.failures = 0;
      this.pendingBytes -= bytesOf(batch);
      this.writing = [];
      return true;
    } catch (error) {
      if (this.failures === 0) this.options.events.failing(error);
      this.failures += 1;
      this.pending = [...batch, ...this.pending];
      this.writing = [];
      return false;
    }
  }

  /**
   * The next to be written: as long as the store was away it may be hours of them, but whoever looks for a time finds a
   * segment by its name, so none spans more than its minute, nor holds anything from much before it.
   */
  private takeBatch(): readonly Pending[] {
    this.pending.sort((a, b) => madeMs(a) - madeMs(b));
    const firstMs = madeMs(this.pending[0]!);
    const { startMs = firstMs } = this.open ?? {};
    if (firstMs > startMs + SEGMENT_MS || firstMs < startMs - LATE_MS) this.open = null;
    const endMs = (this.open?.startMs ?? firstMs) + SEGMENT_MS;
    const cut = this.pending.findIndex((one) => madeMs(one) > endMs);
    return this.pending.splice(0, cut < 0 ? this.pending.length : cut);
  }

  /** The segment with these behind it, in one put; it counts as grown only once the store has it. */
  private async append(batch: readonly Pending[]): Promise<void> {
    const { objects, events, monotonicMs } = this.options;
    const segment = (this.open ??= this.begin(batch[0]!.decision));
    const part = await packLines(batch.map(({ line }) => line));
    const summary = segment.summary.with(batch.map(({ decision }) => decision));
    const header = await packLines([JSON.stringify(summary.header())]);
    const parts = [...segment.parts, part];
    await objects.put(segment.key, Buffer.concat([header, ...parts]));
    events.written(batch.length, part.byteLength);
    const grown = { ...segment, parts, bytes: segment.bytes + part.byteLength, summary };
    const isFull =
      grown.bytes >= SEGMENT_BYTES || monotonicMs() - segment.sinceMs >= SEGMENT_MS - 2 * this.options.flushMs;
    this.open = isFull ? null : grown;
  }

  private begin({ at }: LoggedDecision): OpenSegment {
    const { area, madeBy, monotonicMs } = this.options;
    const startMs = Date.parse(at);
    const key = segmentKey(area, { startMs, madeBy, number: this.number++ });
    return { key, startMs, parts: [], bytes: 0, summary: new SegmentSummary(madeBy), sinceMs: monotonicMs() };
  }
}

const madeMs = ({ decision }: Pending): number => Date.parse(decision.at);

function bytesOf(batch: readonly Pending[]): number {
  return batch.reduce((sum, { line }) => sum + line.length, 0);
}

/** Names a process for good: two that are started at once must not write the same segment. */
export function processName(role: string): string {
  return `${role}-${randomBytes(4).toString('hex')}`;
}
