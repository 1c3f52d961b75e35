import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectStore } from '../payloads';
import type { DecisionFilter } from '../protocol/decision-log';
import type { LoggedDecision } from '../protocol/logged-decision';
import { ReachError } from '../protocol/reach-error';
import { testOf } from './filter';
import { cursorOf, newerFirst, placeOf } from './order';
import { NewestFirst, SegmentReader, type Search } from './reader';
import { prune, type Pruned } from './retention';
import { SegmentWriter, type WriterEvents } from './writer';

/** How long a page is looked for before it is answered with what was found, ms; the cursor goes on. */
const PAGE_MS = 5_000;
/** How long a look waits for comparisons that are still being added to decisions of this process, ms. */
const COMPLETING_MS = 2_000;
/** Comparisons under way at once; beyond, decisions are kept without. */
const MAX_COMPLETING = 64;
/** Comes before every id at the same instant. */
const FIRST_OF_ALL = '~';
/** How long a process that ends tries to write what it has, ms. */
const CLOSE_MS = 5_000;

/** `decisions` of the Config; durations in ms. */
export interface DecisionLogSettings {
  /** Share of decisions that is kept, 0–1. */
  sample_rate: number;
  /** Whether the text by which was routed is kept. */
  keep_text: boolean;
  retention: number;
  max_bytes: number;
  flush_interval: number;
}

export interface DecisionLogOptions {
  objects: ObjectStore;
  tenant: string;
  settings: DecisionLogSettings;
  /** Names this process; see `processName`. */
  madeBy: string;
  events: WriterEvents;
  /** A decision could not be recorded: a bug. */
  onLost: (error: unknown) => void;
  /** Wall clock, Unix ms. */
  nowMs?: () => number;
}

/** A decision with what is still to be added to it. */
export interface KeptDecision {
  record: LoggedDecision;
  complete: (() => Promise<void>) | null;
}

/** A page of the log. */
export interface DecisionPage {
  items: LoggedDecision[];
  next_cursor?: string;
}

/**
 * The decisions of all processes in one shared store (R23). Each process writes its own and reads everybody's: what it
 * decided itself it sees at once, what others did once they have written it.
 */
export class DecisionLog {
  readonly madeBy: string;
  private readonly writer: SegmentWriter;
  private readonly reader: SegmentReader;
  private readonly area: string;
  private readonly nowMs: () => number;
  private readonly completing = new Set<Promise<void>>();

  constructor(private readonly options: DecisionLogOptions) {
    const { objects, tenant, settings, madeBy, events } = options;
    this.madeBy = madeBy;
    this.area = `${tenant}/decisions`;
    this.nowMs = options.nowMs ?? (() => new Date().getTime());
    const shared = { objects, area: this.area };
    const monotonicMs = () => performance.now();
    this.writer = new SegmentWriter({ ...shared, madeBy, flushMs: settings.flush_interval, monotonicMs, events });
    this.reader = new SegmentReader(shared);
  }

  /** Whether a decision is kept. The id says: every process answers alike. */
  wants(decisionId: string): boolean {
    const { sample_rate: rate } = this.options.settings;
    if (rate >= 1) return true;
    // The end of a UUID is random, in version 4 as in 7.
    return rate > 0 && Number.parseInt(decisionId.slice(-8), 16) / 2 ** 32 < rate;
  }

  /** Keeps a decision. Never throws, and never waits. */
  keep({ record, complete }: KeptDecision): void {
    if (!this.options.settings.keep_text) delete record.inputs?.text;
    if (complete === null || this.completing.size >= MAX_COMPLETING) return this.add(record);
    const completed = complete().then(
      () => this.add(record),
      () => this.add(record),
    );
    this.completing.add(completed);
    void completed.finally(() => this.completing.delete(completed));
  }

  /** A decision could not be recorded. */
  lost(error: unknown): void {
    this.options.onLost(error);
  }

  private add(record: LoggedDecision): void {
    try {
      this.writer.add(record);
    } catch (bug) {
      this.options.onLost(bug);
    }
  }

  /**
   * A page, newest first. It may be short, or empty, while there is a `next_cursor`.
   * @throws ReachError `invalid_request` for a cursor that is none; `engine_unavailable` when the store cannot be read
   */
  async list(filter: DecisionFilter, { limit, cursor }: { limit: number; cursor?: string }): Promise<DecisionPage> {
    const after = cursor === undefined ? undefined : placeOf(cursor);
    const endMs = performance.now() + PAGE_MS;
    const page = new NewestFirst(limit + 1, after);
    const search = { filter, after, ...this.bounds() };
    const stopped = await this.fill(page, search, () => performance.now() > endMs);
    const items = page.items.slice(0, limit);
    const last = items.at(-1);
    if (stopped !== null) return this.shortPage(items, stopped);
    return page.items.length > limit && last ? { items, next_cursor: cursorOf(last) } : { items };
  }

  /** Time is up: what is certain to be next is told, and the rest begins where nothing was looked at yet. */
  private shortPage(items: LoggedDecision[], stoppedAt: string): DecisionPage {
    const certain = items.filter(({ at }) => at > stoppedAt);
    return { items: certain, next_cursor: cursorOf({ at: stoppedAt, decision_id: FIRST_OF_ALL }) };
  }

  /** Reads until the page cannot change any more. Answers where it stopped when it was told to, else null. */
  private async fill(page: NewestFirst, search: Search, isOver: () => boolean): Promise<string | null> {
    const test = testOf(search.filter);
    // Before the store is looked at: what is written meanwhile is found there as well, and counted once.
    for (const decision of await this.own()) if (test.fits(decision)) page.add(decision);
    for await (const { found, restTo } of this.reader.segments(search)) {
      if (page.isSettled(found.header.to)) return null;
      for (const decision of await this.reader.decisions(found, test)) page.add(decision);
      if (page.isSettled(restTo)) return null;
      // Never without progress: the next page must begin further on than this one did.
      if (isOver() && restTo !== '' && (!search.after || restTo < search.after.at)) return restTo;
    }
    return null;
  }

  /** Decisions of this process that the store may not have yet. */
  private async own(): Promise<LoggedDecision[]> {
    if (this.completing.size > 0) {
      const patience = sleep(COMPLETING_MS, undefined, { ref: false });
      await Promise.race([Promise.all(this.completing), patience]);
    }
    return this.writer.unwritten();
  }

  /** @throws ReachError `not_found`, saying why it may not be there */
  async get(decisionId: string): Promise<LoggedDecision> {
    const own = (await this.own()).find((one) => one.decision_id === decisionId);
    if (own) return own;
    const madeMs = timeOfUuid(decisionId);
    const found = madeMs === null ? null : await this.reader.one(decisionId, madeMs);
    if (found) return found;
    throw new ReachError(
      'not_found',
      `There is no decision ${JSON.stringify(decisionId)} in the log; ${this.whyNot()}`,
    );
  }

  /** Everything that fits, segment by segment, the newest first, each read once and none kept. */
  async *walk(filter: DecisionFilter): AsyncGenerator<LoggedDecision> {
    const test = testOf(filter);
    const own = (await this.own()).filter((decision) => test.fits(decision)).sort(newerFirst);
    const told = new Set(own.map(({ decision_id }) => decision_id));
    yield* own;
    for await (const { found } of this.reader.segments({ filter, ...this.bounds() })) {
      const decisions = await this.reader.decisions(found, test);
      for (const decision of decisions.sort(newerFirst)) if (!told.has(decision.decision_id)) yield decision;
    }
  }

  /** Removes what is over its time, and of too much the oldest. */
  prune(): Promise<Pruned> {
    const { objects, settings } = this.options;
    const { area, nowMs } = this;
    return prune({ objects, area, retentionMs: settings.retention, maxBytes: settings.max_bytes, nowMs });
  }

  /** Decisions that the store does not have yet. */
  get pending(): number {
    return this.writer.pendingCount;
  }

  /** Writes what there is now. */
  async flush(): Promise<void> {
    await Promise.all(this.completing);
    await this.writer.flush();
  }

  /** Writes what is left. */
  async close(): Promise<void> {
    await Promise.race([Promise.all(this.completing), sleep(COMPLETING_MS, undefined, { ref: false })]);
    await this.writer.close(CLOSE_MS);
  }

  private bounds(): Pick<Search, 'oldestMs' | 'nowMs'> {
    const nowMs = this.nowMs();
    return { nowMs, oldestMs: nowMs - this.options.settings.retention };
  }

  private whyNot(): string {
    const { sample_rate: rate, retention } = this.options.settings;
    const kept = `decisions are kept for ${Math.round(retention / 3_600_000)} h, and another process's show up after about two seconds`;
    if (rate >= 1) return `${kept}; dry runs (POST /v1/route) are not logged`;
    return `${kept}; decisions.sample_rate keeps ${rate * 100} % of them`;
  }
}

/** Unix ms at which a UUIDv7 was made (RFC 9562); null for any other id. */
export function timeOfUuid(id: string): number | null {
  const parts = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.exec(id);
  return parts && Number.parseInt(parts[1]! + parts[2]!, 16);
}
