import { setTimeout as sleep } from 'node:timers/promises';
import type { Etcd3 } from 'etcd3';
import { afterOutcome, claimProbe, NEVER_TRIPPED, type BreakerRecord, type BreakerRules } from '../../policy/breaker';
import type { Clock } from '../clock';
import { getOp, putOp, readOf, unchanged } from '../etcd/etcd-ops';
import type { MirrorEntry } from '../mirror/prefix-watch';
import { decodeRecord, encodeRecord } from './breaker-codec';

/** A pure step of the machine; answers the very record it got when it does not apply. */
export type Change = (record: BreakerRecord) => BreakerRecord;

export interface BreakerCellOptions {
  etcd: Etcd3;
  /** Where the record lies. */
  etcdKey: string;
  clock: Clock;
  rules: BreakerRules;
  /** Aborted when the hub stops. */
  life: AbortSignal;
  /** Told once for each transition of this process: when etcd has it, or when it is seen that etcd is away. */
  onTransition(from: BreakerRecord, to: BreakerRecord): void;
  /** The record changed, whoever changed it. */
  onChange(): void;
}

interface Pending {
  change: Change;
  from: BreakerRecord;
  to: BreakerRecord;
  told: boolean;
}

interface Base {
  record: BreakerRecord;
  /** 0: no key. */
  revision: number;
}

const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1_000;

/**
 * One breaker of the platform as this process has it: the record in etcd, and on top of it the changes made here that etcd
 * does not have yet. They hold here at once, so no call waits for etcd and a breaker works while etcd is away; each is
 * written by compare-and-set. When somebody else was first, theirs is the truth and what still applies is applied to it.
 */
export class BreakerCell {
  /** What holds in this process. */
  current: BreakerRecord;
  /** True while this process is asking etcd for the probe: nobody else here need try. */
  claiming = false;
  private base: Base;
  private seenMs: number;
  private markedMs = Number.NEGATIVE_INFINITY;
  private pending: Pending[] = [];
  private turn: Promise<unknown> = Promise.resolve();
  private writing: Promise<void> | null = null;
  private asking = false;
  /** What the mirror told while a request was under way. */
  private deferred: Base | null = null;
  /** What was last sent without learning whether it arrived. */
  private unclear: string | null = null;

  constructor(
    private readonly options: BreakerCellOptions,
    entry: MirrorEntry | null,
  ) {
    this.base = baseOf(entry);
    this.current = this.base.record;
    this.seenMs = options.clock.monotonicMs();
  }

  /** How long ago this process let the last marked call pass, or saw the phase begin, ms. */
  get sinceMarkedMs(): number {
    return this.options.clock.monotonicMs() - Math.max(this.markedMs, this.seenMs);
  }

  /** How long ago a decision of this process let a marked call pass, ms. */
  get sinceOfferedMs(): number {
    return this.options.clock.monotonicMs() - this.markedMs;
  }

  /** A marked call passes now. */
  marked(): void {
    this.markedMs = this.options.clock.monotonicMs();
  }

  /** How long this process has seen the current phase, ms. */
  get elapsedMs(): number {
    return this.options.clock.monotonicMs() - this.seenMs;
  }

  /** Resolves when etcd has all that changed here. */
  async settled(): Promise<void> {
    while (this.writing !== null) await this.writing;
    await this.turn;
  }

  /** True when nothing is kept here that etcd does not have and the breaker has no history. */
  get isBlank(): boolean {
    return this.writing === null && !this.claiming && this.current.phase === '';
  }

  /** Applies a change here at once and in etcd soon. */
  post(change: Change): void {
    const to = change(this.current);
    if (to === this.current) return;
    this.pending.push({ change, from: this.current, to, told: false });
    this.show(to);
    this.writing ??= this.writeAll().finally(() => (this.writing = null));
  }

  /** The mirror has a new record; null: it was deleted. */
  seen(entry: MirrorEntry | null): void {
    const base = baseOf(entry);
    if (this.asking) this.deferred = base;
    else this.take(base);
  }

  /**
   * Claims the probe for the whole platform. Answers its phase; null when it is not due, somebody else was first, or
   * etcd did not answer within `patienceMs`: then the claim is given back as soon as it turns out to have succeeded.
   */
  async claim(limitMs: number, patienceMs: number): Promise<string | null> {
    if (this.claiming) return null;
    this.claiming = true;
    let abandoned = false;
    const attempt = this.exclusive(async () => (abandoned ? null : this.tryClaim(limitMs)))
      .catch(() => null)
      .finally(() => (this.claiming = false));
    const timer = new AbortController();
    const tooLate = sleep(patienceMs, null, { signal: timer.signal }).catch(() => null);
    const phase = await Promise.race([attempt, tooLate]);
    timer.abort();
    if (phase !== null) return phase;
    abandoned = true;
    void attempt.then((late) => late !== null && this.post((record) => giveBack(record, late, this.options.rules)));
    return null;
  }

  private async tryClaim(limitMs: number): Promise<string | null> {
    const { rules } = this.options;
    if (this.pending.length > 0) return null;
    const from = this.current;
    const to = claimProbe(from, { elapsedMs: this.elapsedMs, limitMs }, rules);
    if (to === null) return null;
    const answer = await this.compareAndSet(to);
    this.rebase(answer.base);
    if (!answer.won) return null;
    this.options.onTransition(from, to);
    return to.phase;
  }

  private async writeAll(): Promise<void> {
    let backoffMs = FIRST_BACKOFF_MS;
    while (this.pending.length > 0 && !this.options.life.aborted) {
      if (await this.exclusive(() => this.writeOnce())) {
        backoffMs = FIRST_BACKOFF_MS;
        continue;
      }
      await sleep(backoffMs, undefined, { signal: this.options.life }).catch(() => undefined);
      backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2);
    }
  }

  /** Answers false when etcd did not answer. */
  private async writeOnce(): Promise<boolean> {
    const sent = this.pending.length;
    if (sent === 0) return true;
    try {
      const answer = await this.compareAndSet(this.current);
      if (answer.won) this.confirm(sent, answer.base);
      else this.rebase(answer.base);
      return true;
    } catch {
      this.tell(this.pending);
      return false;
    }
  }

  private confirm(sent: number, base: Base): void {
    this.tell(this.pending.splice(0, sent));
    this.base = base;
  }

  private tell(changes: Pending[]): void {
    for (const change of changes) {
      if (!change.told && change.from.state !== change.to.state) this.options.onTransition(change.from, change.to);
      change.told = true;
    }
  }

  private async compareAndSet(record: BreakerRecord): Promise<{ won: boolean; base: Base }> {
    const { etcd, etcdKey } = this.options;
    const value = encodeRecord(record);
    const sentBefore = this.unclear;
    this.unclear = value;
    const answer = await etcd.kv.txn({
      compare: [unchanged(etcdKey, String(this.base.revision))],
      success: [putOp(etcdKey, value)],
      failure: [getOp(etcdKey)],
    });
    this.unclear = null;
    if (answer.succeeded) return { won: true, base: { record, revision: Number(answer.header.revision) } };
    const [kv] = readOf(answer, 0);
    const base = baseOf(kv === undefined ? null : { value: kv.value, modRevision: Number(kv.mod_revision) });
    // An earlier request whose answer was lost may have been the one that was first.
    return { won: sentBefore === value && kv?.value.toString() === value, base };
  }

  /** One request at a time; what the mirror tells meanwhile is looked at afterwards. */
  private exclusive<T>(run: () => Promise<T>): Promise<T> {
    const result = this.turn.then(async () => {
      this.asking = true;
      try {
        return await run();
      } finally {
        this.asking = false;
        const { deferred } = this;
        this.deferred = null;
        if (deferred !== null) this.take(deferred);
      }
    });
    this.turn = result.catch(() => undefined);
    return result;
  }

  private take(base: Base): void {
    // A deletion has no revision of its own; the mirror tells a later creation as well.
    if (base.revision > this.base.revision || (base.revision === 0 && this.base.revision !== 0)) this.rebase(base);
  }

  private rebase(base: Base): void {
    let record = base.record;
    this.base = base;
    this.pending = this.pending.flatMap((pending) => {
      const to = pending.change(record);
      if (to === record) return [];
      const moved = { ...pending, from: record, to };
      record = to;
      return [moved];
    });
    this.show(record);
  }

  private show(record: BreakerRecord): void {
    const isNewPhase = record.phase !== this.current.phase;
    this.current = record;
    if (!isNewPhase) return;
    this.seenMs = this.options.clock.monotonicMs();
    this.options.onChange();
  }
}

function giveBack(record: BreakerRecord, phase: string, rules: BreakerRules): BreakerRecord {
  return afterOutcome(record, { phase, mark: 'probe', outcome: 'neutral' }, rules);
}

function baseOf(entry: MirrorEntry | null): Base {
  if (entry === null) return { record: NEVER_TRIPPED, revision: 0 };
  return { record: decodeRecord(entry.value) ?? NEVER_TRIPPED, revision: entry.modRevision };
}
