/**
 * Bulkheads (R29): a limit of calls at once per agent, so that one slow agent cannot take all capacity. The limit is the
 * platform's; each worker holds its share of it.
 */
import { ReachError } from '../protocol/reach-error';
import { TurnedAway } from './turned-away';

/** How long a call is taken to last before any was measured, ms. */
const ASSUMED_HOLD_MS = 1_000;
/** Weight of one more call in the mean hold time. */
const HOLD_SMOOTHING = 1 / 16;
/** Shortest and longest advice to stay away, ms, before it is spread. */
const MIN_RETRY_DELAY_MS = 500;
const MAX_RETRY_DELAY_MS = 60_000;
/** The advice is spread by ± this share, so that those turned away together do not return together. */
const RETRY_SPREAD = 0.5;
/** Longest timer Node takes; beyond it one fires at once. */
const MAX_TIMER_MS = 2_147_483_647;
/** Bulkheads that nobody used for this long are forgotten, ms. */
const IDLE_MS = 600_000;

/** This worker's part of a limit; as of `WorkerCensus`. */
export interface Shares {
  share(limit: number, key: string): number;
  /** Tells when shares may have changed. Answers how to stop being told. */
  onChange(listener: () => void): () => void;
}

export interface BulkheadsOptions {
  /** Default: this worker is the only one. */
  shares?: Shares;
  /** Callers that may wait per bulkhead (`bulkhead.queue_limit`). */
  queueLimit: number;
  /** Monotonic milliseconds. Default `performance.now()`. */
  monotonicMs?: () => number;
  /** In [0, 1). Default `Math.random`. */
  random?: () => number;
}

/** One request for a permit. */
export interface Entry {
  /** Whose bulkhead, as messages call it: the agent's name, or whatever else has a limit. */
  key: string;
  /** Calls at once on the whole platform. The latest one asked with counts for all. */
  limit: number;
  /** How long to wait for a permit, ms; 0: not at all. */
  patienceMs: number;
  signal: AbortSignal;
  /** Reach id of a caller that returns after a refusal, so that the backlog counts it once. */
  caller?: string;
  /**
   * What a permit is one of, where its holder needs one of these as well: the places of an agent's instances. This worker's
   * share is then what its shares of them sum to, so that nobody holds a permit that no place goes with.
   */
  places?: readonly Place[];
  /** Calls under way there by everybody's count, ours as of now: others may hold more than their shares after one of us has joined. */
  inFlight?: () => number;
}

/** A limit of its own that is part of a greater one. */
export interface Place {
  key: string;
  limit: number;
}

interface Waiter {
  readonly caller: string | undefined;
  admit(): void;
}

interface Room {
  readonly key: string;
  limit: number;
  places: readonly Place[] | undefined;
  inFlight: (() => number) | undefined;
  inUse: number;
  /** In the order of arrival. */
  readonly waiters: Set<Waiter>;
  readonly turnedAway: TurnedAway;
  meanHoldMs: number;
  usedMs: number;
}

const ALONE: Shares = { share: (limit) => limit, onChange: () => () => undefined };

/**
 * Whether a refusal says only that this worker has nothing to give, because it just joined or the limit is smaller than
 * the number of workers: another one, or this one a moment later, may.
 */
export function hasNoShare({ options }: ReachError): boolean {
  return options.extra?.details?.no_share === true;
}

/** Semaphores of this process, one per key, each as large as this worker's share of the limit it was last entered with. */
export class Bulkheads {
  private readonly rooms = new Map<string, Room>();
  private readonly shares: Shares;
  private readonly queueLimit: number;
  private readonly monotonicMs: () => number;
  private readonly random: () => number;
  private readonly stopListening: () => void;
  private sweptMs: number;

  constructor({ shares = ALONE, queueLimit, monotonicMs, random = Math.random }: BulkheadsOptions) {
    this.shares = shares;
    this.queueLimit = queueLimit;
    this.monotonicMs = monotonicMs ?? (() => performance.now());
    this.random = random;
    this.sweptMs = this.monotonicMs();
    this.stopListening = shares.onChange(() => this.rooms.forEach((room) => this.admitWaiting(room)));
  }

  /**
   * Takes a permit: at once when one is free and nobody waits, else in the order of arrival.
   *
   * @returns gives the permit back; calling it again does nothing
   * @throws ReachError `overloaded` (`received: no`) when no permit came in time, nobody more may wait, or this worker has no share
   * @throws the signal's reason when it is aborted before a permit came
   */
  async enter(entry: Entry): Promise<() => void> {
    const { patienceMs, signal, caller } = entry;
    signal.throwIfAborted();
    const room = this.roomFor(entry);
    if (room.inUse >= this.shareOf(room)) {
      if (patienceMs <= 0 || room.waiters.size >= this.queueLimit || this.shareOf(room) < 1)
        throw this.refusal(room, entry, '');
      return this.wait(room, entry);
    }
    return this.admit(room, caller);
  }

  /** Whether somebody entering now would have to wait or be refused. */
  isFull(key: string, limit: number): boolean {
    return this.inUse(key) >= this.shares.share(limit, key);
  }

  /** Permits this process holds. */
  inUse(key: string): number {
    return this.rooms.get(key)?.inUse ?? 0;
  }

  /** Callers waiting in this process. */
  waiting(key: string): number {
    return this.rooms.get(key)?.waiters.size ?? 0;
  }

  /** Callers that want a permit: those who wait here, and those turned away who will be back; each counts once. */
  depth(key: string): number {
    const { waiters = [], turnedAway } = this.rooms.get(key) ?? {};
    return this.backlog(key) + [...waiters].filter(({ caller = '' }) => !turnedAway?.has(caller)).length;
  }

  /** A caller that an agent or one of its instances turned away will not come back. */
  left(agent: string, caller: string): void {
    for (const [key, { turnedAway }] of this.rooms)
      if (key === agent || key.startsWith(`${agent}/`)) turnedAway.admitted(caller);
  }

  /** About how many callers this process turned away within the last minute and has not admitted since. */
  backlog(key: string): number {
    return this.rooms.get(key)?.turnedAway.count ?? 0;
  }

  /**
   * How long one who can wait durably should stay away, ms: the time in which the backlog is worked off, between 500 ms
   * and 60 s, ±50 %. So the many neither poll in step nor more often than permits come free.
   */
  retryDelayMs(key: string, limit: number): number {
    const room = this.rooms.get(key);
    const holdMs = room?.meanHoldMs ?? ASSUMED_HOLD_MS;
    const share = room ? this.shareOf(room) : this.shares.share(limit, key);
    const neededMs = (this.backlog(key) * holdMs) / Math.max(1, share);
    return this.spread(Math.min(MAX_RETRY_DELAY_MS, Math.max(MIN_RETRY_DELAY_MS, neededMs)));
  }

  /** Counts a caller that waits elsewhere and has asked for no permit yet; answers {@link retryDelayMs}. */
  turnAway({ key, limit, caller }: Pick<Entry, 'key' | 'limit' | 'caller'>): number {
    this.roomFor({ places: this.rooms.get(key)?.places, key, limit }).turnedAway.refused(caller);
    return this.retryDelayMs(key, limit);
  }

  /** Ends the listening to changed shares. Permits and waiters stay as they are. */
  close(): void {
    this.stopListening();
  }

  /** Permits that this process may hold. A limit that its places make up is divided as they are, for each has its own remainder. */
  private shareOf({ limit, key, places, inFlight, inUse }: Room): number {
    // Of the others' calls, which are known late, only those count that are more than their shares.
    const left = inFlight ? Math.max(0, limit - Math.max(0, inFlight() - inUse)) : Number.POSITIVE_INFINITY;
    if (!places) return Math.min(left, this.shares.share(limit, key));
    const sum = (of: (place: Place) => number) => places.reduce((total, place) => total + of(place), 0);
    const together = sum((place) => this.shares.share(place.limit, place.key));
    const isMadeUpOfThem = limit >= sum((place) => place.limit);
    return Math.min(left, together, isMadeUpOfThem ? together : this.shares.share(limit, key));
  }

  private admit(room: Room, caller: string | undefined): () => void {
    room.inUse += 1;
    room.turnedAway.admitted(caller);
    const admittedMs = this.monotonicMs();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      room.inUse -= 1;
      room.meanHoldMs += (this.monotonicMs() - admittedMs - room.meanHoldMs) * HOLD_SMOOTHING;
      this.admitWaiting(room);
    };
  }

  private wait(room: Room, entry: Entry): Promise<() => void> {
    const { patienceMs, signal, caller } = entry;
    return new Promise((resolve, reject) => {
      const leave = () => {
        room.waiters.delete(waiter);
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
      };
      const waiter: Waiter = {
        caller,
        admit: () => {
          leave();
          resolve(this.admit(room, caller));
        },
      };
      const abort = () => {
        leave();
        reject(signal.reason as Error);
      };
      const giveUp = () => {
        leave();
        reject(this.refusal(room, entry, `, and none came free within ${patienceMs} ms`));
      };
      const timer = setTimeout(giveUp, Math.min(patienceMs, MAX_TIMER_MS));
      signal.addEventListener('abort', abort, { once: true });
      room.waiters.add(waiter);
    });
  }

  /** Hands free permits to those who waited longest. */
  private admitWaiting(room: Room): void {
    for (const waiter of room.waiters) {
      if (room.inUse >= this.shareOf(room)) return;
      waiter.admit();
    }
  }

  private refusal(room: Room, { key, limit, caller }: Entry, waited: string): ReachError {
    room.turnedAway.refused(caller);
    const share = this.shareOf(room);
    const retryAfterMs = share < 1 ? this.spread(MIN_RETRY_DELAY_MS) : this.retryDelayMs(key, limit);
    const taken =
      share < 1
        ? "none of them are this worker's to give"
        : `this worker's share of ${share} is taken with ${room.waiters.size} waiting${waited}`;
    const advice = `Try again in ${retryAfterMs} ms; to let more through, add instances or raise the limit (bulkhead.limits, or max_concurrency where the agent says it)`;
    return new ReachError('overloaded', `${key} takes ${limit} calls at once; ${taken}. ${advice}`, {
      received: 'no',
      retryAfterMs,
      ...(share < 1 && { extra: { details: { no_share: true } } }),
    });
  }

  private spread(ms: number): number {
    return Math.round(ms * (1 - RETRY_SPREAD + 2 * RETRY_SPREAD * this.random()));
  }

  private roomFor({ key, limit, places, inFlight }: Pick<Entry, 'key' | 'limit' | 'places' | 'inFlight'>): Room {
    const nowMs = this.monotonicMs();
    this.sweep(nowMs);
    const room = this.rooms.get(key) ?? this.newRoom(key, limit);
    this.rooms.set(key, room);
    Object.assign(room, { usedMs: nowMs, limit, places, inFlight });
    // A share may have grown since anybody told: those who wait go first.
    this.admitWaiting(room);
    return room;
  }

  private newRoom(key: string, limit: number): Room {
    const turnedAway = new TurnedAway(this.monotonicMs);
    const measured = { inUse: 0, meanHoldMs: ASSUMED_HOLD_MS, usedMs: 0 };
    return { key, limit, places: undefined, inFlight: undefined, waiters: new Set(), turnedAway, ...measured };
  }

  /** Agents come and go; their bulkheads shall not stay for ever. */
  private sweep(nowMs: number): void {
    if (nowMs - this.sweptMs < IDLE_MS) return;
    this.sweptMs = nowMs;
    for (const [key, { inUse, waiters, usedMs }] of this.rooms)
      if (inUse === 0 && waiters.size === 0 && nowMs - usedMs >= IDLE_MS) this.rooms.delete(key);
  }
}
