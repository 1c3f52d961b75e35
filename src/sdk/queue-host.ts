import type { Descriptor } from '../protocol/descriptor';
import { queuePlace } from '../protocol/queue-endpoint';
import { DEFAULT_CLAIM_MS, loggable } from '../protocol/queue-wire';
import { isReply } from '../protocol/redis-refusal';
import type { AgentHost } from './agent-host';
import type { QueueHostOptions } from './agent-types';
import { QueueConnection } from './queue-connection';
import { QueueDeliveries, type QueueDeliveriesParts } from './queue-deliveries';
import { Budget, settledWithin, sleep } from './time';

/** What a {@link QueueHost} is made of. */
export interface QueueHostParts extends Omit<QueueDeliveriesParts, 'connection' | 'options'> {
  descriptor: Descriptor;
  instanceId: string;
  maxConcurrency: number;
  /** How long to wait for a Redis that is not there yet, ms. */
  startTimeoutMs: number;
  /** Aborts when the agent is to leave, be it before it has started. */
  leaving: AbortSignal;
  options: QueueHostOptions;
}

/** Messages taken from the queue at once. */
const BATCH = 16;
/** Renewals tell also that a reach was cancelled, so they come at least so often, ms. */
const MAX_BEAT_MS = 1_000;
/** So many renewals within the time after which a message is taken over. */
const BEATS_PER_CLAIM = 3;
/** Shorter silences are no news, ms. */
const MIN_CLAIM_MS = 100;
/** Pause after a failed read, ms, ±50 %. */
const RETRY_MS = 200;
/** How long aborted handlers may take to notice, and late results to leave when the grace is over, ms. */
const ABORT_GRACE_MS = 1_000;

/**
 * Takes calls from the agent's queue on Redis Streams (R37). A message is acknowledged in one step with its answer, after the work
 * (R7); while it is worked on its claim is renewed, and a message whose holder gave no sign for a while is taken over by
 * another instance. Survives its Redis: connections come back by themselves, and the group is made anew.
 */
export class QueueHost implements AgentHost {
  readonly ended: Promise<void>;
  readonly #connection: QueueConnection;
  readonly #deliveries: QueueDeliveries;
  readonly #claimMs: number;
  readonly #draining = new AbortController();
  readonly #closed = new AbortController();
  #reading: Promise<void> = Promise.resolve();
  #loops: Promise<unknown> = Promise.resolve();
  #hasRoom: () => void = () => undefined;
  #settleEnd: () => void = () => undefined;
  #isTroubled = false;

  private constructor(private readonly parts: QueueHostParts) {
    const { descriptor, instanceId: consumer, options } = parts;
    const place = queuePlace(descriptor)!; // the descriptor was checked
    this.#connection = new QueueConnection({ place, consumer, options });
    this.#deliveries = new QueueDeliveries({ ...parts, connection: this.#connection });
    this.#claimMs = Math.max(MIN_CLAIM_MS, descriptor.endpoint?.ack_timeout_ms ?? DEFAULT_CLAIM_MS);
    this.ended = new Promise((resolve) => (this.#settleEnd = resolve));
  }

  /** Connects and begins to take calls. @throws ReachError `engine_unavailable`, `unauthorized`, `forbidden`; the reason of `leaving` */
  static async start(parts: QueueHostParts): Promise<QueueHost> {
    const host = new QueueHost(parts);
    try {
      await host.#connection.open(parts.startTimeoutMs, parts.leaving);
      await host.#connection.forgetConsumers().catch(() => undefined);
      parts.leaving.throwIfAborted();
    } catch (caught) {
      host.#connection.close();
      throw caught;
    }
    host.#loops = Promise.all([host.#takeCalls(), host.#upkeep()]);
    return host;
  }

  async drain(graceMs: number): Promise<void> {
    const budget = new Budget(graceMs);
    this.#draining.abort();
    this.#hasRoom();
    await this.#connection.wake().catch(() => undefined);
    if (!(await settledWithin(this.#idle(), graceMs))) {
      this.parts.runner.abortAll();
      await settledWithin(this.#idle(), ABORT_GRACE_MS);
    }
    await settledWithin(this.parts.late.settled(), Math.max(budget.remainingMs, ABORT_GRACE_MS));
    this.#deliveries.close();
    this.#closed.abort();
    await this.#connection.forgetConsumers().catch(() => undefined);
    this.#connection.close();
    await this.#loops;
    this.#settleEnd();
  }

  /** Until nothing is in hand, what the last read has found included. */
  async #idle(): Promise<void> {
    await this.#reading.catch(() => undefined);
    await this.#deliveries.idle();
    await this.parts.runner.idle();
  }

  get #room(): number {
    return this.parts.maxConcurrency - this.#deliveries.size;
  }

  async #takeCalls(): Promise<void> {
    while (!this.#draining.signal.aborted) {
      if (this.#room <= 0) await this.#untilRoom();
      else await (this.#reading = this.#read()).catch((caught: unknown) => this.#mend(caught));
    }
  }

  async #read(): Promise<void> {
    const entries = await this.#connection.next(Math.min(BATCH, this.#room));
    for (const entry of entries) this.#deliveries.begin(entry, () => this.#hasRoom());
    if (this.#isTroubled) this.parts.log.info({}, 'the queue can be read again');
    this.#isTroubled = false;
  }

  /** Until a call has ended; looks again after a while in any case. */
  async #untilRoom(): Promise<void> {
    await settledWithin(new Promise<void>((resolve) => (this.#hasRoom = resolve)), MAX_BEAT_MS);
  }

  /** A Redis that lost its data has no group either. */
  async #mend(caught: unknown): Promise<void> {
    if (this.#draining.signal.aborted) return;
    const lacksGroup = isReply(caught) && caught.message.startsWith('NOGROUP');
    const error = lacksGroup ? await this.#connection.makeGroup().catch((again: unknown) => again) : caught;
    if (error === undefined) return;
    // Said once for each outage.
    if (!this.#isTroubled) this.parts.log.warn({ err: loggable(error) }, 'the queue cannot be read; trying again');
    this.#isTroubled = true;
    await sleep(RETRY_MS * (0.5 + Math.random()), this.#draining.signal).catch(() => undefined);
  }

  /** Renews what is worked on, and only then takes over what others have dropped: its own are never among them. */
  async #upkeep(): Promise<void> {
    const beatMs = Math.min(MAX_BEAT_MS, this.#claimMs / BEATS_PER_CLAIM);
    let isFailing = false;
    while (!this.#closed.signal.aborted) {
      await sleep(beatMs * (0.8 + 0.4 * Math.random()), this.#closed.signal).catch(() => undefined);
      try {
        await this.#deliveries.renew();
        await this.#takeOver();
        isFailing = false;
      } catch (caught) {
        // Said once for each outage: what is read may be fine while nothing can be written.
        if (!isFailing && !this.#closed.signal.aborted)
          this.parts.log.warn({ err: loggable(caught) }, 'calls in hand cannot be renewed; trying again');
        isFailing = true;
      }
    }
  }

  async #takeOver(): Promise<void> {
    if (this.#draining.signal.aborted || this.#room <= 0) return;
    const entries = await this.#connection.claim(this.#claimMs, Math.min(BATCH, this.#room));
    for (const entry of entries) this.#deliveries.begin(entry, () => this.#hasRoom());
  }
}
