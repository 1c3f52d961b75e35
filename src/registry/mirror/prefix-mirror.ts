import { setTimeout as sleep } from 'node:timers/promises';
import type { Etcd3 } from 'etcd3';
import type { Clock } from '../clock';
import { callEtcd, ETCD_CALL_TIMEOUT_MS } from '../etcd/etcd-client';
import type { Logger } from '../logger';
import { agreesWith } from './audit';
import { listPrefix, type Listing } from './list-prefix';
import { PrefixWatch, type MirrorEntry, type WatchedEvent } from './prefix-watch';

/** A key that changed; `entry` is null when it was deleted. */
export interface MirrorChange {
  key: string;
  entry: MirrorEntry | null;
}

export interface PrefixMirrorOptions {
  etcd: Etcd3;
  prefix: string;
  /** How often the mirror is compared with a fresh listing. */
  refreshIntervalMs: number;
  logger: Logger;
  clock: Clock;
  /** Called in the order of revisions, with everything that one response changed. Must not throw. */
  onChanges(changes: MirrorChange[]): void;
}

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 1_000;
/** Events of keys listed just now may still be on their way for this long before they count as lost. */
const SETTLE_MS = 2_000;
const SETTLE_STEP_MS = 50;
/** How often etcd is asked whether the watch still lives. */
const PULSE_MS = 2_000;
/** A watch on which etcd owes an answer for this long is given up. */
const SILENT_MS = 2 * ETCD_CALL_TIMEOUT_MS;

/**
 * A local copy of all keys below a prefix. Fed by a watch, listed anew after any gap (compaction, cancelled watch,
 * lost connection, one that went silent) and audited every `refreshIntervalMs` against the keys' revisions, so that a revision the
 * watch skipped is found as well. While etcd is away the last state stands and {@link staleness} says so.
 */
export class PrefixMirror {
  private readonly entries = new Map<string, MirrorEntry>();
  private watch: PrefixWatch | null = null;
  private revision = 0;
  private healthy = false;
  private lastSyncMs = Number.NEGATIVE_INFINITY;
  private recovery: Promise<void> | null = null;
  private auditing: Promise<unknown> = Promise.resolve();
  /** Deletions seen while an audit is on. */
  private deleted: Map<string, number> | null = null;
  /** Aborted while stopped: ends every pause. */
  private life = AbortSignal.abort();
  private endLife: () => void = () => undefined;

  constructor(private readonly options: PrefixMirrorOptions) {}

  /** Lists and begins to watch. @throws ReachError `engine_unavailable`; may then be called again. */
  async start(): Promise<void> {
    if (this.running) return;
    const life = new AbortController();
    this.life = life.signal;
    this.endLife = () => life.abort();
    try {
      await callEtcd(`reading ${this.options.prefix}`, () => this.sync());
    } catch (error) {
      this.endLife();
      throw error;
    }
    this.auditing = Promise.all([this.auditLoop(), this.pulseLoop()]);
  }

  /** Stops watching; the last state stays readable. */
  async stop(): Promise<void> {
    this.endLife();
    this.healthy = false;
    this.watch?.close();
    this.watch = null;
    await Promise.all([this.recovery, this.auditing]);
  }

  /** The newest revision this mirror knows of; grows with every change. */
  get currentRevision(): number {
    return this.revision;
  }

  /** Whether the watch is up (known within about 5 s) and the last audit passed, and how long ago either was last proven. */
  staleness(): { connected: boolean; lastSyncAgeMs: number } {
    return { connected: this.healthy, lastSyncAgeMs: this.options.clock.monotonicMs() - this.lastSyncMs };
  }

  private get running(): boolean {
    return !this.life.aborted;
  }

  private async sync(): Promise<void> {
    const { etcd, prefix } = this.options;
    const listing = await listPrefix(etcd, prefix);
    const watch = await PrefixWatch.open({
      etcd,
      prefix,
      fromRevision: listing.revision + 1,
      onEvents: (events) => this.applyEvents(watch, events),
      onAlive: () => {
        if (watch === this.watch) this.markSynced();
      },
      onGap: (reason) => this.recover(watch, reason),
    });
    if (!this.running) return watch.close();
    this.watch?.close();
    this.watch = watch;
    this.replaceAll(listing);
    watch.release();
    // A gap that was met before the release is told by it, and the watch is given up again.
    if (this.watch === watch) this.markSynced();
  }

  /** A listing made while no watch is applied is the whole truth, even when etcd's revisions went back. */
  private replaceAll({ entries, revision }: Listing): void {
    const changes: MirrorChange[] = [];
    for (const key of this.entries.keys()) if (!entries.has(key)) changes.push({ key, entry: null });
    for (const [key, entry] of entries) {
      const known = this.entries.get(key);
      if (known === undefined || known.modRevision !== entry.modRevision || !known.value.equals(entry.value))
        changes.push({ key, entry });
    }
    this.revision = revision;
    this.apply(changes);
  }

  private applyEvents(source: PrefixWatch, events: WatchedEvent[]): void {
    if (source !== this.watch) return;
    this.markSynced();
    for (const { key, value, revision } of events) {
      this.revision = Math.max(this.revision, revision);
      if (value === null) this.deleted?.set(key, revision);
    }
    this.apply(
      events.map(({ key, value, revision }) => ({
        key,
        entry: value === null ? null : { value, modRevision: revision },
      })),
    );
  }

  private apply(changes: MirrorChange[]): void {
    if (changes.length === 0) return;
    for (const { key, entry } of changes) {
      if (entry === null) this.entries.delete(key);
      else this.entries.set(key, entry);
    }
    this.options.onChanges(changes);
  }

  private markSynced(): void {
    this.healthy = true;
    this.lastSyncMs = this.options.clock.monotonicMs();
  }

  private recover(source: PrefixWatch | null, reason: string): void {
    if (!this.running || (source === null ? this.recovery !== null : source !== this.watch)) return;
    this.options.logger.warn({ prefix: this.options.prefix, reason }, 'the watch has a gap; listing anew');
    this.healthy = false;
    this.watch?.close();
    this.watch = null;
    // One that is on sees that the watch it has just opened is gone, and goes on.
    this.recovery ??= this.recoverLoop().finally(() => (this.recovery = null));
  }

  private async recoverLoop(): Promise<void> {
    let backoffMs = FIRST_BACKOFF_MS;
    while (this.running) {
      try {
        await this.sync();
        if (this.watch !== null) break;
      } catch (error) {
        this.options.logger.debug({ prefix: this.options.prefix, error }, 'etcd cannot be listed yet');
      }
      // Half of the pause is random, so that many processes do not come back in step (R05).
      await this.pause(backoffMs * (0.5 + Math.random() / 2));
      backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2);
    }
    if (this.running) {
      this.options.logger.info({ prefix: this.options.prefix, revision: this.revision }, 'in step with etcd again');
    }
  }

  /** Finds connections that died without a word long before gRPC or an audit does. */
  private async pulseLoop(): Promise<void> {
    while (this.running) {
      await this.pause(PULSE_MS);
      if (!this.running || this.watch === null) continue;
      const owedMs = this.watch.pulse(this.options.clock.monotonicMs());
      if (owedMs >= SILENT_MS) this.recover(this.watch, 'etcd has gone silent');
      else if (owedMs >= ETCD_CALL_TIMEOUT_MS) this.noteSilence();
    }
  }

  private noteSilence(error?: unknown): void {
    const { logger, prefix } = this.options;
    if (this.healthy) logger.warn({ prefix, error }, 'etcd does not answer; keeping the last known state');
    this.healthy = false;
  }

  private async auditLoop(): Promise<void> {
    let delayMs = this.options.refreshIntervalMs;
    while (this.running) {
      await this.pause(delayMs * (0.9 + Math.random() / 5));
      if (this.running && this.recovery === null) delayMs = await this.audit();
    }
  }

  /** Answers when to audit next: soon when etcd did not answer. */
  private async audit(): Promise<number> {
    const { etcd, prefix, refreshIntervalMs } = this.options;
    const deleted = new Map<string, number>();
    const knownRevision = this.revision;
    this.deleted = deleted;
    try {
      const listing = await listPrefix(etcd, prefix, { keysOnly: true });
      const agrees = listing.revision >= knownRevision && (await this.agrees(listing, deleted));
      if (!agrees) this.recover(null, 'the audit found keys that differ');
      else if (this.recovery === null) this.markSynced();
      return refreshIntervalMs;
    } catch (error) {
      this.noteSilence(error);
      return Math.min(refreshIntervalMs, MAX_BACKOFF_MS);
    } finally {
      this.deleted = null;
    }
  }

  /** Differences may be events under way: they count only when they are still there after a while. */
  private async agrees(listing: Listing, deleted: ReadonlyMap<string, number>): Promise<boolean> {
    const watch = this.watch;
    for (let waitedMs = 0; ; waitedMs += SETTLE_STEP_MS) {
      // A watch that was replaced meanwhile came with a listing of its own.
      if (!this.running || this.watch !== watch || agreesWith(this.entries, listing, deleted)) return true;
      if (waitedMs >= SETTLE_MS) return false;
      await this.pause(SETTLE_STEP_MS);
    }
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.life }).catch(() => undefined);
  }
}
