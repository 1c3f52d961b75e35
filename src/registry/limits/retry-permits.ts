import type { Etcd3, ICompare, ITxnResponse } from 'etcd3';
import { systemClock, type Clock } from '../clock';
import { absent } from '../etcd/etcd-ops';
import { grantLease, revokeQuietly, type GrantedLease } from '../etcd/leases';
import { Keyspace } from '../keys';
import type { Logger } from '../logger';
import { PrefixMirror, type MirrorChange } from '../mirror/prefix-mirror';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { Ticker } from '../ticker';
import { RETRY_WAIT_MS, withinMs } from './patience';
import { decodeSlot, freeSlotOp, heldBy, SlotBook, takeSlotOp } from './retry-slots';

const AUDIT_MS = 30_000;
const RECONCILE_MS = 1_000;
/** Free slots tried when others are quicker. */
const MAX_TRIES = 3;
/** After etcd failed, permits are given without asking it for this long. */
const ALOOF_MS = 1_000;

export interface RetryPermitsOptions extends RegistryOptions {
  /** `retry.concurrent_per_agent`. Default 8. */
  concurrentPerAgent?: number;
  /** In [0, 1). Default `Math.random`. */
  random?: () => number;
}

/** Who wants to retry at which agent, and for how long at most. */
export interface PermitRequest {
  agentName: string;
  /** The reach's id: a reach has at most one permit per agent. */
  holder: string;
  /** The permit frees itself after this, rounded up to whole seconds: backoff and attempt together, ms. */
  ttlMs: number;
}

export interface RetryPermit {
  slot: number;
}

/**
 * At most so many retries of one agent outstanding on the whole platform, those asleep in backoff included (R27).
 * A permit is a numbered key in etcd, created if absent, under a lease: what a dead process held frees itself. Refusals
 * come from a mirror of the keys, without I/O, so a storm of failures does not become one of etcd calls.
 * While etcd is away each process keeps to the same limit by itself.
 */
export class RetryPermits {
  private readonly etcd: Etcd3;
  private readonly keys: Keyspace;
  private readonly logger: Logger;
  private readonly clock: Clock;
  private readonly limit: number;
  private readonly random: () => number;
  private readonly mirror: PrefixMirror;
  private readonly ticker = new Ticker(RECONCILE_MS, () => this.reconcile());
  private readonly books = new Map<string, SlotBook>();
  private readonly pending = new Map<string, Promise<RetryPermit | null>>();
  private aloofUntilMs = Number.NEGATIVE_INFINITY;

  constructor({
    etcd,
    keyPrefix = DEFAULT_KEY_PREFIX,
    tenant,
    logger,
    clock = systemClock,
    concurrentPerAgent = 8,
    random = Math.random,
  }: RetryPermitsOptions) {
    this.etcd = etcd;
    this.keys = new Keyspace(keyPrefix, tenant);
    this.logger = logger;
    this.clock = clock;
    this.limit = concurrentPerAgent;
    this.random = random;
    this.mirror = new PrefixMirror({
      etcd,
      prefix: this.keys.retrySlots,
      refreshIntervalMs: AUDIT_MS,
      logger,
      clock,
      onChanges: (changes) => this.take(changes),
    });
  }

  /** Reads which permits are out and follows them. @throws ReachError `engine_unavailable`; may be called again. */
  async start(): Promise<void> {
    await this.mirror.start();
    this.ticker.start();
  }

  /** Permits given out stay until they are released or their time ends. */
  async stop(): Promise<void> {
    await this.ticker.stop();
    await this.mirror.stop();
  }

  /** Takes a permit; null when all are out. A holder that has one keeps it, with a new time. Never throws for etcd's sake. */
  acquire(request: PermitRequest): Promise<RetryPermit | null> {
    return this.once(request, async () => {
      const slot = this.bookOf(request.agentName).slotOf(request.holder);
      return (slot === null ? null : await this.extend({ ...request, slot })) ?? this.claim(request);
    });
  }

  /** Gives a permit new time when it is still the holder's, else takes another; null when all are out. */
  renew(request: PermitRequest & RetryPermit): Promise<RetryPermit | null> {
    return this.once(request, async () => (await this.extend(request)) ?? this.claim(request));
  }

  /** Gives a permit back when it is the holder's; else nothing happens. While etcd is away that is made up for later. */
  async release({ agentName, holder, slot }: Omit<PermitRequest, 'ttlMs'> & RetryPermit): Promise<void> {
    await this.pending.get(`${agentName}/${holder}`);
    const book = this.bookOf(agentName);
    book.giveBack(slot, holder);
    if (!this.isAloof && (await this.free(agentName, slot, holder))) book.owed.delete(slot);
  }

  /** Gives back whatever a holder has, at any agent: its reach is over. */
  async releaseAll(holder: string): Promise<void> {
    const held = [...this.books].flatMap(([agentName, book]) => {
      const slot = book.slotOf(holder);
      return slot === null ? [] : [{ agentName, holder, slot }];
    });
    await Promise.all(held.map((permit) => this.release(permit)));
  }

  /** Permits of an agent that are out, as far as this process knows. */
  outstanding(agentName: string): number {
    const book = this.books.get(agentName);
    book?.expire(this.clock.monotonicMs());
    return book?.outstanding() ?? 0;
  }

  /** A holder asks once at a time: the second of two requests at once gets the answer of the first. */
  private once(
    { agentName, holder }: Pick<PermitRequest, 'agentName' | 'holder'>,
    run: () => Promise<RetryPermit | null>,
  ): Promise<RetryPermit | null> {
    const key = `${agentName}/${holder}`;
    const known = this.pending.get(key);
    if (known !== undefined) return known;
    const asked = run().finally(() => this.pending.delete(key));
    this.pending.set(key, asked);
    return asked;
  }

  private async claim(request: PermitRequest): Promise<RetryPermit | null> {
    const { agentName } = request;
    const tried = new Set<number>();
    while (tried.size < MAX_TRIES && !this.isAloof) {
      const slot = this.pick(this.bookOf(agentName), tried);
      if (slot === undefined) return null;
      tried.add(slot);
      if (await this.write(request, slot, absent(this.keyOf(agentName, slot)))) return { slot };
    }
    return this.isAloof ? this.giveAlone(request, this.bookOf(agentName).ungiven()[0]) : null;
  }

  /** A free slot at random, so that processes seldom try the same. What a mirror out of step calls taken is asked for, too. */
  private pick(book: SlotBook, tried: ReadonlySet<number>): number | undefined {
    const free = book.free();
    const open = free.length > 0 || this.mirror.staleness().connected ? free : book.ungiven();
    const untried = open.filter((slot) => !tried.has(slot));
    return untried[Math.floor(this.random() * untried.length)];
  }

  /** Null when the slot is not the holder's any more. */
  private async extend(request: PermitRequest & RetryPermit): Promise<RetryPermit | null> {
    const { agentName, holder, slot } = request;
    const { own } = this.bookOf(agentName);
    if (!this.isAloof && (await this.write(request, slot, heldBy(this.keyOf(agentName, slot), holder))))
      return { slot };
    const ours = own.get(slot);
    if (this.isAloof || (ours?.holder === holder && !ours.isShared)) return this.giveAlone(request, slot);
    if (ours?.holder === holder) own.delete(slot);
    return null;
  }

  /** Without etcd: this process keeps to the limit by itself, and tells etcd when it is back. */
  private giveAlone({ agentName, holder, ttlMs }: PermitRequest, slot: number | undefined): RetryPermit | null {
    const book = this.bookOf(agentName);
    const { own, claiming } = book;
    if (slot === undefined || (own.get(slot)?.holder ?? holder) !== holder || claiming.has(slot)) return null;
    book.give(slot, { holder, untilMs: this.clock.monotonicMs() + ttlMs, isShared: false });
    return { slot };
  }

  /** Writes a slot under a lease of its own if the condition holds. Answers whether; false as well when etcd is slow or fails. */
  private async write(request: PermitRequest, slot: number, condition: ICompare): Promise<boolean> {
    const { agentName, holder } = request;
    const book = this.bookOf(agentName);
    const askedMs = this.clock.monotonicMs();
    book.claiming.set(slot, holder);
    const asked = this.ask(request, slot, condition);
    try {
      const { lease, done } = await withinMs(RETRY_WAIT_MS, asked);
      this.revoke(done.succeeded ? done.responses[0]?.response_put?.prev_kv?.lease : lease.id);
      if (done.succeeded) book.give(slot, { holder, untilMs: askedMs + lease.ttlSec * 1_000, isShared: true });
      return done.succeeded;
    } catch (error) {
      this.noteFailure(error);
      // Nobody counts on what is written late: it was given alone by then, or not at all.
      asked.then(
        ({ lease }) => this.revoke(lease.id),
        () => undefined,
      );
      return false;
    } finally {
      book.claiming.delete(slot);
    }
  }

  private async ask(
    { agentName, holder, ttlMs }: PermitRequest,
    slot: number,
    condition: ICompare,
  ): Promise<{ lease: GrantedLease; done: ITxnResponse }> {
    const lease = await grantLease(this.etcd, Math.max(1, Math.ceil(ttlMs / 1_000)));
    const success = [takeSlotOp(this.keyOf(agentName, slot), holder, lease.id)];
    return { lease, done: await this.etcd.kv.txn({ compare: [condition], success, failure: [] }) };
  }

  /** Frees a slot in etcd when it is the holder's. False when etcd fails. */
  private async free(agentName: string, slot: number, holder: string): Promise<boolean> {
    const key = this.keyOf(agentName, slot);
    try {
      const done = await this.etcd.kv.txn({ compare: [heldBy(key, holder)], success: [freeSlotOp(key)], failure: [] });
      this.revoke(done.responses[0]?.response_delete_range?.prev_kvs?.[0]?.lease);
      return true;
    } catch (error) {
      this.noteFailure(error);
      return false;
    }
  }

  /** Tells etcd of permits given and given back while it was away. Where another has the number, the permit runs out by itself. */
  private async reconcile(): Promise<void> {
    for (const [agentName, book] of this.books) {
      book.expire(this.clock.monotonicMs());
      if (book.isEmpty) this.books.delete(agentName);
      for (const [slot, { holder, isShared, untilMs }] of book.own) {
        if (isShared || !this.isReachable) continue;
        const request = { agentName, holder, ttlMs: untilMs - this.clock.monotonicMs() };
        await this.once(request, () => this.share(request, slot));
      }
      for (const [slot, holder] of book.owed) {
        await this.pending.get(`${agentName}/${holder}`);
        if (!this.isReachable || book.owed.get(slot) !== holder) continue;
        if (await this.free(agentName, slot, holder)) book.owed.delete(slot);
      }
    }
  }

  private async share(request: PermitRequest, slot: number): Promise<RetryPermit> {
    const key = this.keyOf(request.agentName, slot);
    if ((await this.write(request, slot, absent(key))) || this.isAloof) return { slot };
    await this.write(request, slot, heldBy(key, request.holder));
    return { slot };
  }

  private take(changes: MirrorChange[]): void {
    for (const { key, entry } of changes) {
      const [agentName, number] = this.keys.partsUnder(this.keys.retrySlots, key, 2) ?? [];
      if (agentName === undefined || number === undefined || !/^\d{1,6}$/.test(number)) continue;
      // A value that cannot be read is somebody's all the same.
      const holder = entry === null ? null : (decodeSlot(entry.value) ?? '');
      this.bookOf(agentName).see(Number(number), holder);
    }
  }

  private bookOf(agentName: string): SlotBook {
    const book = this.books.get(agentName) ?? new SlotBook(this.limit);
    this.books.set(agentName, book);
    book.expire(this.clock.monotonicMs());
    return book;
  }

  private keyOf(agentName: string, slot: number): string {
    return this.keys.under(this.keys.retrySlots, agentName, String(slot));
  }

  private get isReachable(): boolean {
    return !this.isAloof && this.mirror.staleness().connected;
  }

  private get isAloof(): boolean {
    return this.clock.monotonicMs() < this.aloofUntilMs;
  }

  private noteFailure(error: unknown): void {
    this.logger.debug({ error }, 'etcd does not answer; retry permits are counted by this process alone');
    this.aloofUntilMs = this.clock.monotonicMs() + ALOOF_MS;
  }

  /** A slot's lease holds nothing but the slot. */
  private revoke(leaseId: string | undefined): void {
    if (leaseId !== undefined) revokeQuietly(this.etcd, leaseId, this.logger);
  }
}
