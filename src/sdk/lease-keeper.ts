import { ERROR_TABLE, type ErrorCode } from '../protocol/error-codes';
import { ReachError } from '../protocol/reach-error';
import type { Registration } from './agent-types';
import { HeartbeatSchedule, type Beat, type HeartbeatScheduleOptions } from './heartbeat-schedule';
import { Budget, sleep } from './time';

/** A lease as the keeper needs it. */
export interface KeptLease {
  epoch: string;
  ttlSec: number;
}

/** What the keeper asks of the registry. */
export interface LeaseApi {
  /** Registers everything anew. */
  register(signal: AbortSignal): Promise<KeptLease>;
  /** One heartbeat; returns what is left of the lease, s. */
  beat(epoch: string, beat: Beat, signal: AbortSignal): Promise<number>;
}

/** What the keeper tells. */
export interface LeaseListener {
  registered(lease: KeptLease, again: boolean): void;
  lost(reason: string): void;
  superseded(reason: string): void;
  error(error: ReachError): void;
  /** A heartbeat got through after some that did not. */
  recovered(): void;
}

/** Pause between registrations that fail, ms: doubles, with jitter, so that a herd spreads out. */
const REGISTER_RETRY_MS = { first: 500, most: 5_000, mostRefused: 30_000 } as const;
/** The registry no longer knows the instance, its agent or its version: register again. */
const GONE = new Set<ErrorCode>(['lease_expired', 'not_found', 'agent_not_found', 'version_not_found']);

/**
 * Keeps one instance registered (R13): heartbeats on schedule, renews a short lease, registers again when the lease is
 * gone, and stops when another process has taken the instance id over. A gateway out of reach never ends it.
 */
export class LeaseKeeper {
  #state: Registration = 'starting';
  #lease: KeptLease | undefined;
  #draining = false;
  #expiry: NodeJS.Timeout | undefined;
  #loop: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  readonly #schedule: HeartbeatSchedule;

  constructor(
    private readonly api: LeaseApi,
    private readonly listener: LeaseListener,
    private readonly options: HeartbeatScheduleOptions,
  ) {
    this.#schedule = new HeartbeatSchedule(options);
  }

  get state(): Registration {
    return this.#state;
  }

  /** The current epoch; undefined before the first registration. */
  get epoch(): string | undefined {
    return this.#lease?.epoch;
  }

  /** True when fewer than ten heartbeats fit into the lease (R13). */
  get leaseTooShort(): boolean {
    return this.#schedule.tooShort;
  }

  /**
   * Registers for the first time. A gateway that is not there yet is waited for up to `timeoutMs`; a refusal is thrown.
   * Heartbeats begin with {@link keep}.
   */
  async start(timeoutMs: number): Promise<void> {
    await this.#register(new Budget(timeoutMs, this.options.clock));
  }

  /** Begins the heartbeats. */
  keep(): void {
    this.#loop = this.#run();
  }

  /** Tells the registry at once, e.g. that the agent drains; from then on a lost lease is let go. */
  async announceDrain(): Promise<void> {
    this.#draining = true;
    if (this.#state === 'registered') await this.#beat();
  }

  /** Ends everything; the lease is left as it is. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the lease keeper was stopped'));
    clearTimeout(this.#expiry);
    await this.#loop;
    if (this.#state !== 'superseded') this.#state = 'stopped';
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && this.#state !== 'superseded') {
      await sleep(this.#schedule.nextDelayMs(), signal).catch(() => undefined);
      if (!signal.aborted) await this.#beat();
    }
  }

  async #beat(): Promise<void> {
    const beat = this.#schedule.beat();
    const epoch = this.#lease?.epoch ?? '';
    try {
      const remainingSec = await this.api.beat(epoch, beat, this.#stop.signal);
      if (this.#schedule.troubled) this.listener.recovered();
      this.#schedule.acknowledged(remainingSec, beat.sentAtMs);
      this.#watchExpiry();
      if (this.#state === 'lost') this.#registered(true);
    } catch (caught) {
      if (!this.#stop.signal.aborted) await this.#beatFailed(ReachError.from(caught), epoch);
    }
  }

  async #beatFailed(error: ReachError, epoch: string): Promise<void> {
    if (epoch !== this.#lease?.epoch) return; // registered again meanwhile
    if (error.code === 'stale_epoch') return this.#superseded(error);
    if (GONE.has(error.code)) {
      this.#lost(`the registry no longer has this instance (${error.code})`);
      if (!this.#draining) await this.#return().catch(() => undefined);
      return;
    }
    this.#schedule.failed();
    this.listener.error(error);
  }

  async #return(): Promise<void> {
    await sleep(this.#schedule.returnDelayMs(), this.#stop.signal);
    await this.#register();
  }

  /** Registers until it succeeds; with a `budget` (the first time) a refusal or its end is thrown instead. */
  async #register(budget?: Budget): Promise<void> {
    const { signal } = this.#stop;
    for (let n = 1; ; n += 1) {
      const sentAtMs = this.options.clock();
      try {
        const lease = await this.api.register(signal);
        this.#lease = lease;
        this.#schedule.leased(lease.ttlSec, sentAtMs);
        this.#watchExpiry();
        return this.#registered(budget === undefined);
      } catch (caught) {
        signal.throwIfAborted();
        const error = ReachError.from(caught);
        const pause = this.#registerPauseMs(n, error);
        if (budget && (isRefusal(error) || pause >= budget.remainingMs)) throw error;
        this.listener.error(error);
        await sleep(pause, signal);
      }
    }
  }

  #registerPauseMs(n: number, error: ReachError): number {
    const most = isRefusal(error) ? REGISTER_RETRY_MS.mostRefused : REGISTER_RETRY_MS.most;
    const own = Math.min(most, REGISTER_RETRY_MS.first * 2 ** Math.min(n - 1, 10));
    // On top of what the gateway asks for: it asks everybody for the same (R05).
    return Math.max(own / 2, error.options.retryAfterMs ?? 0) + (own / 2) * this.options.random();
  }

  #registered(again: boolean): void {
    this.#state = 'registered';
    if (this.#lease) this.listener.registered(this.#lease, again);
  }

  #lost(reason: string): void {
    clearTimeout(this.#expiry);
    if (this.#state !== 'registered') return;
    this.#state = 'lost';
    this.listener.lost(reason);
  }

  #superseded(error: ReachError): void {
    clearTimeout(this.#expiry);
    this.#state = 'superseded';
    this.listener.superseded(error.message);
  }

  /** Says `lost` at the moment the lease must have run out, whatever a hanging request is waiting for. */
  #watchExpiry(): void {
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(
      () => this.#lost('no heartbeat got through before the lease ran out'),
      this.#schedule.remainingMs,
    );
  }
}

/** The gateway understood and refused: asking again soon is pointless. */
function isRefusal(error: ReachError): boolean {
  return ERROR_TABLE[error.code].class === 'deterministic';
}
