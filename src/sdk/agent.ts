/**
 * `agent-reach/agent`: join as an agent in ten lines.
 *
 * @example
 * ```ts
 * import { ReachAgent, AgentRejected } from 'agent-reach/agent';
 *
 * const agent = new ReachAgent({
 *   descriptor: './echo.yaml',
 *   gateway: 'http://127.0.0.1:8080',
 *   handlers: {
 *     echo: async (payload, ctx) => {
 *       if (typeof payload.text !== 'string') throw new AgentRejected('text is missing');
 *       return { text: payload.text, attempt: ctx.attempt };
 *     },
 *   },
 *   handleSignals: true,
 * });
 * await agent.start();
 * ```
 */
import { EventEmitter } from 'node:events';
import pino from 'pino';
import { DEFAULT_LEASE_TTL_SEC } from '../protocol/limits';
import { ReachError } from '../protocol/reach-error';
import { loadDescriptor, type AgentDescriptor } from './agent-descriptor';
import type { AgentHost } from './agent-host';
import type { MovableWorker } from './movable-worker';
import type { AgentEvents, AgentLog, AgentOptions, Registration } from './agent-types';
import { AgentReachClient } from './client';
import { CallRunner } from './call-runner';
import { consumptionOf } from './dedup/agent-consumption';
import type { PlatformDeduplicationStore } from './dedup/platform';
import { newInstanceId } from './instance-id';
import { InstanceLease } from './instance-lease';
import { LargePayloads } from './large-payloads';
import { leftWhileStarting, unlessLeaving } from './leaving';
import { LeaseKeeper, type KeptLease } from './lease-keeper';
import { RegistrationApi } from './registration-api';
import { startHost } from './start-host';
import { startWorker } from './start-worker';
import { monotonic, settledWithin } from './time';
import { Transport } from './transport';
import { Trouble } from './trouble';

export { AgentBusy, AgentFailed, AgentRejected, CallStopped, type StopReason } from './agent-errors';
export type {
  AgentContext,
  AgentEvents,
  AgentHandler,
  AgentLog,
  AgentOptions,
  HttpHostOptions,
  QueueHostOptions,
  Registration,
  WorkerHostOptions,
} from './agent-types';
export type { DeduplicationStore } from './dedup/store';
export type {
  DeduplicationBegin,
  DeduplicationBeginAnswer,
  DeduplicationComplete,
  DeduplicationCompleteAnswer,
} from '../protocol/deduplication';
export { ReachError } from '../protocol/reach-error';
export type { DescriptorDraft } from '../protocol/descriptor';
export type { Json, JsonObject } from '../protocol/shapes';

const DEFAULT_MAX_CONCURRENCY = 100;
const DRAIN_TIMEOUT_MS = 15_000;
const START_TIMEOUT_MS = 60_000;
/** A drain is announced for at most this long; routing learns of it from the lease's end otherwise, ms. */
const ANNOUNCE_MS = 2_000;

/**
 * An agent: registers its descriptor and itself, keeps its lease alive, takes calls over Temporal, HTTP or a queue, and leaves
 * politely. Emits {@link AgentEvents}.
 */
export class ReachAgent extends EventEmitter<AgentEvents> {
  /** This instance's id in the registry. */
  readonly instanceId: string;
  readonly #loaded: AgentDescriptor;
  readonly #maxConcurrency: number;
  readonly #log: AgentLog;
  readonly #runner: CallRunner;
  readonly #platformStore: PlatformDeduplicationStore | undefined;
  readonly #transport: Transport;
  readonly #nestedTransport: Transport;
  readonly #api: RegistrationApi;
  readonly #lease: InstanceLease;
  readonly #keeper: LeaseKeeper;
  #host: AgentHost | undefined;
  #worker: MovableWorker | undefined;
  #hostUrl: string | undefined;
  #ending: Promise<void> | undefined;
  /** Aborts when this agent begins to leave, be it before it has started. */
  readonly #leaving = new AbortController();
  readonly #trouble: Trouble;
  readonly #onSignal = () => void this.drain();

  /** Throws `invalid_descriptor` when the descriptor and the handlers do not fit together, `invalid_request` for options out of range. */
  constructor(private readonly options: AgentOptions) {
    super();
    this.#loaded = loadDescriptor(options.descriptor, Object.keys(options.handlers));
    const { descriptor } = this.#loaded;
    this.instanceId = options.instanceId ?? newInstanceId();
    this.#maxConcurrency = options.maxConcurrency ?? descriptor.max_concurrency ?? DEFAULT_MAX_CONCURRENCY;
    this.#log =
      options.log ?? pino({ base: { agent: descriptor.name, instance: this.instanceId } }, pino.destination(2));
    this.#trouble = new Trouble(this.#log);
    const { consumption, platformStore } = consumptionOf(options, descriptor);
    this.#platformStore = platformStore;
    this.#runner = new CallRunner({
      handlers: options.handlers,
      maxConcurrency: this.#maxConcurrency,
      log: this.#log,
      consumption,
      clientFor: (headers) => new AgentReachClient({ url: options.gateway }, this.#nestedTransport.with(headers)),
    });
    this.#transport = new Transport({ url: options.gateway, apiKey: options.apiKey, maxConnections: 4 });
    // Connections of their own: long polls of nested reaches must not hold up heartbeats.
    this.#nestedTransport = new Transport({ url: options.gateway, apiKey: options.apiKey });
    this.#api = new RegistrationApi(this.#transport, { name: descriptor.name, instanceId: this.instanceId });
    this.#lease = this.#makeLease();
    this.#keeper = this.#makeKeeper();
  }

  /** Where the registration stands. */
  get registration(): Registration {
    return this.#keeper.state;
  }

  /** The URL this agent serves; undefined for workers, queues and before `start`. */
  get url(): string | undefined {
    return this.#hostUrl;
  }

  /** Calls being worked on. */
  get inFlight(): number {
    return this.#runner.inFlight;
  }

  /**
   * Registers and begins to take calls. Waits for a gateway that is not there yet (`startTimeoutMs`). Throws the gateway's
   * refusal, `engine_unavailable` when gateway or Temporal stay out of reach, the listening error of a taken port, or
   * `invalid_request` when it was told to leave meanwhile.
   */
  async start(): Promise<void> {
    if (this.#host || this.#ending)
      throw new ReachError('invalid_request', 'This agent was started already; make a new ReachAgent');
    try {
      await this.#begin();
    } catch (caught) {
      const toldToLeave = this.#leaving.signal.aborted;
      await this.stop();
      throw toldToLeave ? leftWhileStarting() : caught;
    }
    if (this.options.handleSignals)
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, this.#onSignal);
  }

  /**
   * Leaves politely (R14): reports `draining`, takes nothing new, lets running calls finish (`drainTimeoutMs`, then their
   * signals abort), deregisters. The same promise when called again.
   */
  drain(): Promise<void> {
    return (this.#ending ??= this.#end(this.options.drainTimeoutMs ?? DRAIN_TIMEOUT_MS));
  }

  /** Leaves now: running calls are aborted and will be delivered again. */
  stop(): Promise<void> {
    this.#runner.abortAll();
    return (this.#ending ??= this.#end(0));
  }

  async #begin(): Promise<void> {
    const { signal: leaving } = this.#leaving;
    const started = await startHost({
      descriptor: this.#loaded.descriptor,
      runner: this.#runner,
      instanceId: this.instanceId,
      maxConcurrency: this.#maxConcurrency,
      startTimeoutMs: this.options.startTimeoutMs ?? START_TIMEOUT_MS,
      leaving,
      log: this.#log,
      transport: this.#nestedTransport,
      options: this.options,
    });
    const host = await unlessLeaving(leaving, started);
    this.#host = host ?? undefined;
    this.#hostUrl = host?.url;
    await this.#keeper.start(this.options.startTimeoutMs ?? START_TIMEOUT_MS);
    leaving.throwIfAborted();
    if (!host) this.#host = this.#worker = await unlessLeaving(leaving, await this.#startWorker());
    this.#keeper.keep();
    this.#host?.ended.then(
      () => this.drain(), // a signal that Temporal's runtime caught
      (caught: unknown) => this.#fail(caught),
    );
  }

  #startWorker(): Promise<MovableWorker> {
    const { worker: options = {}, drainTimeoutMs: graceMs = DRAIN_TIMEOUT_MS } = this.options;
    return startWorker({
      descriptor: this.#loaded.descriptor,
      runner: this.#runner,
      instanceId: this.instanceId,
      maxConcurrency: this.#maxConcurrency,
      graceMs,
      log: this.#log,
      at: this.#lease.workerAt,
      payloads: new LargePayloads(this.#nestedTransport),
      options,
    });
  }

  #makeLease(): InstanceLease {
    const { version } = this.#loaded.descriptor;
    const { ttlSec: ttl_sec = DEFAULT_LEASE_TTL_SEC, replaceDescriptor = false } = this.options;
    const instance = () => ({
      version,
      ttl_sec,
      max_concurrency: this.#maxConcurrency,
      ...(this.#hostUrl !== undefined && { host: this.#hostUrl }),
    });
    return new InstanceLease({
      api: this.#api,
      source: this.#loaded.source,
      replaceDescriptor,
      instance,
      runner: this.#runner,
    });
  }

  #makeKeeper(): LeaseKeeper {
    const listener = {
      registered: (lease: KeptLease, again: boolean) => this.#registered(lease, again),
      lost: (reason: string) => this.#lost(reason),
      superseded: (reason: string) => this.#superseded(reason),
      error: (error: ReachError) => this.#report(error),
      recovered: () => this.#recovered(),
    };
    const { heartbeatIntervalMs: intervalMs } = this.options;
    return new LeaseKeeper(this.#lease, listener, { clock: monotonic, random: Math.random, intervalMs });
  }

  #registered(lease: KeptLease, again: boolean): void {
    this.#trouble.over();
    this.#log.info({ epoch: lease.epoch, host: this.#hostUrl }, again ? 'registered again' : 'registered');
    if (!again && this.#keeper.leaseTooShort) {
      this.#log.warn(
        { ttl_sec: lease.ttlSec },
        'the lease is shorter than ten heartbeats: a few lost ones end it; raise ttlSec or lower heartbeatIntervalMs',
      );
    }
    const { workerAt } = this.#lease;
    if (workerAt) void this.#worker?.follow(workerAt, (caught) => this.#report(ReachError.from(caught)));
    this.emit(again ? 're-registered' : 'registered', { epoch: lease.epoch, ttlSec: lease.ttlSec });
  }

  #lost(reason: string): void {
    this.#log.warn({ reason }, 'the registration is lost; registering again');
    this.emit('lost', reason);
  }

  #superseded(reason: string): void {
    this.#log.error({ reason }, 'another process registered this instance id; stopping');
    this.emit('superseded', reason);
    void this.drain();
  }

  #fail(caught: unknown): void {
    this.#report(caught instanceof Error ? caught : new Error(String(caught)));
    void this.drain();
  }

  /** An `error` event that nobody listens to would end the process (node:events); it is logged in any case. */
  #report(error: Error): void {
    this.#trouble.say(error);
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }

  #recovered(): void {
    this.#trouble.over();
    this.#log.info({}, 'the gateway answers again');
  }

  async #end(graceMs: number): Promise<void> {
    this.#leaving.abort(leftWhileStarting());
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.off(name, this.#onSignal);
    this.#runner.beginDrain();
    const announced = graceMs > 0 ? this.#keeper.announceDrain() : Promise.resolve();
    await settledWithin(announced, ANNOUNCE_MS);
    await this.#host?.drain(graceMs);
    await this.#keeper.stop();
    const { epoch } = this.#keeper;
    if (epoch !== undefined && this.registration !== 'superseded') await this.#deregister(epoch);
    await this.#platformStore?.close();
    await this.#transport.destroy();
    await this.#nestedTransport.destroy();
    this.#log.info({}, 'stopped');
    this.emit('stopped');
  }

  async #deregister(epoch: string): Promise<void> {
    await this.#api.deleteInstance(epoch).catch((caught: unknown) => {
      this.#log.info({ err: caught }, 'not deregistered; the lease will run out');
    });
  }
}
