import { DEFAULT_LEASE_TTL_SEC, HEARTBEAT_INTERVAL_MS, RENEW_BELOW_SEC } from '../protocol/limits';
import type { Clock } from './time';

/** Part of a lease below which it is renewed at once: 8 s of 30 (R13); shorter leases keep the proportion. */
const RENEW_SHARE = RENEW_BELOW_SEC / DEFAULT_LEASE_TTL_SEC;
/** Heartbeats wander by this share, so that agents started together do not stay in step. */
const JITTER = 0.1;
/** Shortest pause after a failed heartbeat. */
const LEAST_RETRY_MS = 500;
/** A short lease is tried for at this share of what is left of it: ever faster, never all at once. */
const HURRY_SHARE = 1 / 3;
const LEAST_PAUSE_MS = 50;
/** An exchange may take this long while the lease is short, ms. */
const URGENT_TIMEOUT_MS = 1_000;
/** A lease may lose nine heartbeats in a row (R13): a shorter one is warned about. */
const WANTED_BEATS_PER_LEASE = 10;
/** However short the lease: at least so many heartbeats in it. */
const FEWEST_BEATS_PER_LEASE = 3;

export interface HeartbeatScheduleOptions {
  clock: Clock;
  /** 0 ≤ x < 1. */
  random: () => number;
  /** Default 3,000. */
  intervalMs?: number;
}

/** One heartbeat about to be sent. */
export interface Beat {
  /** Asks the gateway to renew the lease now. */
  renew: boolean;
  timeoutMs: number;
  /** Hand it back to {@link HeartbeatSchedule.acknowledged}. */
  sentAtMs: number;
}

/**
 * When the next heartbeat is due and whether it must renew (R13). Pure: no timers, no I/O. The lease is counted from the
 * moment a request was *sent*, so what is left here is never more than what the registry knows.
 */
export class HeartbeatSchedule {
  readonly #wantedIntervalMs: number;
  #ttlMs = DEFAULT_LEASE_TTL_SEC * 1000;
  #expiresAtMs = 0;
  #failures = 0;
  #first = true;
  #beatAtMs = 0;

  constructor(private readonly options: HeartbeatScheduleOptions) {
    this.#wantedIntervalMs = options.intervalMs ?? HEARTBEAT_INTERVAL_MS;
  }

  /** Begins a lease of `ttlSec`, asked for at `sentAtMs`. */
  leased(ttlSec: number, sentAtMs: number): void {
    this.#ttlMs = ttlSec * 1000;
    this.#first = true;
    this.acknowledged(ttlSec, sentAtMs);
  }

  /** A heartbeat sent at `sentAtMs` was answered with `remainingSec`. */
  acknowledged(remainingSec: number, sentAtMs: number): void {
    this.#expiresAtMs = sentAtMs + remainingSec * 1000;
    this.#failures = 0;
  }

  /** A heartbeat got no answer, or no good one. */
  failed(): void {
    this.#failures += 1;
  }

  /** True when the last heartbeat failed. */
  get troubled(): boolean {
    return this.#failures > 0;
  }

  /** What is surely left of the lease, ms; never negative. */
  get remainingMs(): number {
    return Math.max(0, this.#expiresAtMs - this.options.clock());
  }

  /** True when the lease has surely run out unless the gateway says otherwise. */
  get expired(): boolean {
    return this.remainingMs === 0;
  }

  /** True when fewer than ten heartbeats fit into the lease: R13's warning. */
  get tooShort(): boolean {
    return this.#ttlMs < WANTED_BEATS_PER_LEASE * this.#wantedIntervalMs;
  }

  /** Time between heartbeats while all is well, ms. */
  get intervalMs(): number {
    return Math.min(this.#wantedIntervalMs, this.#ttlMs / FEWEST_BEATS_PER_LEASE);
  }

  /**
   * How long to wait before registering anew once the lease is gone, ms. At once when it ended out of the blue; after
   * an outage, which ended the leases of many at the same moment, anywhere within an interval (R05).
   */
  returnDelayMs(): number {
    return this.troubled || this.expired ? this.intervalMs * this.options.random() : 0;
  }

  /** How long to wait before the next heartbeat, ms. */
  nextDelayMs(): number {
    const { random } = this.options;
    if (this.troubled) return Math.max(LEAST_PAUSE_MS, this.#retryMs * (0.5 + random() / 2) - this.#sinceBeatMs);
    const spread = this.#first ? 0.2 + 0.8 * random() : 1 - JITTER + 2 * JITTER * random();
    const dueMs = this.intervalMs * spread;
    const untilShortMs = Math.max(this.remainingMs - this.#renewBelowMs, this.#urgentRetryMs);
    return Math.min(dueMs, untilShortMs);
  }

  /** Called when a heartbeat is sent. */
  beat(): Beat {
    this.#first = false;
    this.#beatAtMs = this.options.clock();
    const short = this.remainingMs < this.#renewBelowMs;
    const timeoutMs = short ? Math.min(URGENT_TIMEOUT_MS, this.intervalMs) : this.intervalMs;
    return { renew: short, timeoutMs, sentAtMs: this.#beatAtMs };
  }

  /** Pauses count from the last beat, so that one which hangs until its timeout does not also cost a pause. */
  get #sinceBeatMs(): number {
    return this.options.clock() - this.#beatAtMs;
  }

  get #renewBelowMs(): number {
    return this.#ttlMs * RENEW_SHARE;
  }

  get #urgentRetryMs(): number {
    return Math.min(LEAST_RETRY_MS, this.intervalMs / 2);
  }

  /**
   * A failure is no reason to ask more often while nine heartbeats may be lost (R13): a whole fleet asks a registry
   * that has trouble already. Only the first retry comes early, for the one heartbeat that a network dropped.
   */
  get #retryMs(): number {
    const hurried = !this.expired && this.remainingMs < this.#renewBelowMs;
    if (hurried) return Math.min(this.intervalMs, Math.max(this.#urgentRetryMs, this.remainingMs * HURRY_SHARE));
    return this.#failures === 1 ? this.intervalMs / 2 : this.intervalMs;
  }
}
