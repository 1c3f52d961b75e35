import { setImmediate as breathe } from 'node:timers/promises';
import type { ObjectStore } from '../payloads';
import type { DecisionFilter } from '../protocol/decision-log';
import type { LoggedDecision } from '../protocol/logged-decision';
import { testOf, type DecisionTest } from './filter';
import { hourOf, hoursBack, parseSegmentKey, type SegmentKey } from './keys';
import { newerFirst, type Place } from './order';
import { HEADER_BYTES, headerOf, instant, linesOf, mayHold, type SegmentHeader } from './segment';
import { LATE_MS, SEGMENT_MS } from './writer';

/** Lines that are parsed before other work gets its turn. */
const LINES_AT_ONCE = 200;
/** Headers of segments that are remembered, by key and size. */
const MAX_HEADERS = 20_000;
/** A decision is in a segment whose name is at most so much older: as long as one is open, and some. */
const SPAN_MS = SEGMENT_MS + 30_000;

export interface ReaderOptions {
  objects: Pick<ObjectStore, 'get' | 'stream' | 'list'>;
  area: string;
}

/** A segment that may hold something. */
interface Found extends SegmentKey {
  header: SegmentHeader;
}

/** What to look for, and where to go on. */
export interface Search {
  filter: DecisionFilter;
  /** Unix ms: nothing older is there. */
  oldestMs: number;
  nowMs: number;
  /** Decisions behind this place, in the order newest first. */
  after?: Place;
}

/** Reads the segments of all processes, newest decisions first. */
export class SegmentReader {
  private readonly headers = new Map<string, SegmentHeader | null>();

  constructor(private readonly options: ReaderOptions) {}

  /**
   * Segments that may hold something, by their newest decision, hour by hour. Each comes with the bound of all that
   * follow: nothing later in the sequence is newer.
   */
  async *segments({ filter, oldestMs, nowMs, after }: Search): AsyncGenerator<{ found: Found; restTo: string }> {
    const since = filter.since === undefined ? oldestMs : Math.max(oldestMs, Date.parse(filter.since));
    const ends = [filter.until, after?.at].flatMap((at) => (at === undefined ? [] : [Date.parse(at) + LATE_MS]));
    const latest = Math.min(nowMs + SPAN_MS, ...ends);
    let held: Found[] = [];
    for (const hour of hoursBack(since - SPAN_MS, latest)) {
      const own = await this.inHour(hour, { ...filter, ...(after && { until: justAfter(after.at) }) });
      held = [...held, ...own].sort((a, b) => (a.header.to < b.header.to ? 1 : -1));
      // Older hours hold nothing newer than their end and a segment's span.
      const bound = new Date(startOf(hour) + SPAN_MS).toISOString();
      while (held.length > 0 && held[0]!.header.to >= bound) {
        const [found] = held.splice(0, 1);
        yield { found: found!, restTo: held[0] && held[0].header.to > bound ? held[0].header.to : bound };
      }
    }
    for (let i = 0; i < held.length; i++) yield { found: held[i]!, restTo: held[i + 1]?.header.to ?? '' };
  }

  /** The decisions of a segment that fit, in no order. */
  async decisions({ key }: SegmentKey, test: DecisionTest): Promise<LoggedDecision[]> {
    const content = await this.options.objects.get(key);
    if (content === null) return []; // pruned meanwhile
    const lines = await linesOf(content).catch(() => []);
    const fitting: LoggedDecision[] = [];
    for (let i = 0; i < lines.length; i++) {
      if (i % LINES_AT_ONCE === LINES_AT_ONCE - 1) await breathe();
      const decision = test.mayFit(lines[i]!) ? parsed(lines[i]!) : null;
      if (decision && test.fits(decision)) fitting.push(decision);
    }
    return fitting;
  }

  /** One decision, by its id; its time is known from the id (UUIDv7) to about a second. Null: it is not there. */
  async one(decisionId: string, madeMs: number): Promise<LoggedDecision | null> {
    const test = { ...testOf({}), mayFit: (line: string) => line.includes(decisionId) };
    const hours = new Set([hourOf(madeMs + LATE_MS), hourOf(madeMs), hourOf(madeMs - SPAN_MS)]);
    for (const hour of hours) {
      for await (const { key, startMs } of this.listed(hour)) {
        if (startMs > madeMs + LATE_MS || startMs < madeMs - SPAN_MS) continue;
        const found = await this.decisions({ key, startMs }, test);
        const decision = found.find((one) => one.decision_id === decisionId);
        if (decision) return decision;
      }
    }
    return null;
  }

  private async inHour(hour: string, filter: DecisionFilter): Promise<Found[]> {
    const found: Found[] = [];
    for await (const segment of this.listed(hour)) {
      const header = await this.headerOf(segment);
      if (header && mayHold(header, filter)) found.push({ ...segment, header });
    }
    return found;
  }

  private async *listed(hour: string): AsyncGenerator<SegmentKey & { bytes: number }> {
    for await (const { key, bytes } of this.options.objects.list(`${this.options.area}/${hour}/`)) {
      const segment = parseSegmentKey(key);
      if (segment) yield { ...segment, bytes };
    }
  }

  /** A segment that has grown has another size, and another header. */
  private async headerOf({ key, bytes }: { key: string; bytes: number }): Promise<SegmentHeader | null> {
    const name = `${key} ${bytes}`;
    let header = this.headers.get(name);
    if (header === undefined) {
      header = await this.readHeader(key, Math.min(bytes, HEADER_BYTES));
      if (this.headers.size >= MAX_HEADERS) this.headers.clear();
      this.headers.set(name, header);
    }
    return header;
  }

  private async readHeader(key: string, end: number): Promise<SegmentHeader | null> {
    const stream = await this.options.objects.stream(key, { start: 0, end });
    if (stream === null) return null;
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    return headerOf(Buffer.concat(chunks));
  }
}

/** The newest that fit, so many, behind a place: kept in order while segments are read. */
export class NewestFirst {
  private readonly kept: LoggedDecision[] = [];
  private readonly ids = new Set<string>();

  constructor(
    private readonly limit: number,
    private readonly after: Place | undefined,
  ) {}

  add(decision: LoggedDecision): void {
    if (this.ids.has(decision.decision_id)) return;
    if (this.after && newerFirst(this.after, decision) >= 0) return;
    const last = this.kept.at(-1);
    if (this.full && last && newerFirst(last, decision) < 0) return;
    this.ids.add(decision.decision_id);
    this.kept.splice(placeFor(this.kept, decision), 0, decision);
    if (this.kept.length > this.limit) this.ids.delete(this.kept.pop()!.decision_id);
  }

  get full(): boolean {
    return this.kept.length >= this.limit;
  }

  /** Nothing as new as this bound or older can come in any more. */
  isSettled(restTo: string): boolean {
    return this.full && this.kept.at(-1)!.at > restTo;
  }

  get items(): readonly LoggedDecision[] {
    return this.kept;
  }
}

function placeFor(sorted: readonly LoggedDecision[], decision: LoggedDecision): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (newerFirst(sorted[middle]!, decision) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function parsed(line: string): LoggedDecision | null {
  try {
    return JSON.parse(line) as LoggedDecision;
  } catch {
    return null;
  }
}

function startOf(hour: string): number {
  return Date.parse(`${hour.slice(0, 4)}-${hour.slice(4, 6)}-${hour.slice(6, 8)}T${hour.slice(8)}:00:00.000Z`);
}

function justAfter(at: string): string {
  return new Date(Date.parse(instant(at)) + 1).toISOString();
}
