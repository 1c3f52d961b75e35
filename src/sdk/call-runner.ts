import { setMaxListeners } from 'node:events';
import { ReachError } from '../protocol/reach-error';
import type { AgentCall, AgentStatus, JsonObject } from '../protocol/shapes';
import { AgentBusy, AgentRejected, CallFault, CallStopped, failureOf, type StopReason } from './agent-errors';
import type { AgentContext, AgentHandler, AgentLog } from './agent-types';
import { checkCall, toOutput } from './call-output';
import type { AgentReachClient } from './client';
import { NestedReaches } from './nested-reaches';
import type { Consumption } from './dedup/consumption';
import { Budget, monotonic, timedSignal, type Clock } from './time';

/** Longest attempt when nobody set a deadline, ms. */
const NO_DEADLINE_MS = 86_400_000;

export interface CallRunnerOptions {
  handlers: Record<string, AgentHandler>;
  maxConcurrency: number;
  log: AgentLog;
  /** Keeps deliveries from being done twice (R4, R7). */
  consumption: Consumption;
  /** Makes the way on which nested reaches go out, with the headers that name the call. */
  clientFor: (headers: () => Record<string, string>) => AgentReachClient;
  clock?: Clock;
}

/** Where a call came from. */
export interface CallOrigin {
  traceparent: string;
  /** What names the call to the gateway, for the reaches that are made for it. */
  naming: Record<string, string>;
  /** Aborts with a {@link CallStopped} when the caller gives up. */
  signal: AbortSignal;
  /** The answer may come when the attempt's deadline has passed: it ends by the signal alone. */
  openEnded?: boolean;
  /** What the transport allows, ms, when that is less than the call's own `deadline_ms`. */
  limitMs?: number;
}

/** A call being worked on. */
export interface RunningCall {
  /** The answer, or a {@link ReachError} with the wire's code. Settles when the handler has really ended. */
  answer: Promise<JsonObject>;
  /** Aborts with a {@link CallStopped}: cancelled, deadline or shutdown. */
  signal: AbortSignal;
}

/** Runs handlers, whatever protocol the calls came by; counts what is in flight until a handler has really ended. */
export class CallRunner {
  #inFlight = 0;
  #draining = false;
  readonly #shutdown = new AbortController();
  readonly #idle: (() => void)[] = [];

  constructor(private readonly options: CallRunnerOptions) {
    // Every call under way listens to it.
    setMaxListeners(0, this.#shutdown.signal);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** 0–1: the share of the allowed concurrency in use. */
  get load(): number {
    return Math.min(1, this.#inFlight / this.options.maxConcurrency);
  }

  /** What heartbeats report (R14). */
  get status(): AgentStatus {
    if (this.#draining) return 'draining';
    return this.#inFlight >= this.options.maxConcurrency ? 'busy' : 'ready';
  }

  /** From now on the status is `draining`. */
  beginDrain(): void {
    this.#draining = true;
  }

  /** Aborts what still runs. */
  abortAll(): void {
    this.#shutdown.abort(new CallStopped('shutdown'));
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Starts a call. Throws a {@link ReachError} at once for one that no handler can take. */
  start(value: unknown, origin: CallOrigin): RunningCall {
    const call = this.#check(value);
    const handler = this.#handlerOf(call.ability);
    const budget = new Budget(
      Math.min(origin.openEnded ? NO_DEADLINE_MS : (call.deadline_ms ?? NO_DEADLINE_MS), origin.limitMs ?? Infinity),
      this.options.clock ?? monotonic,
    );
    const timer = timedSignal(budget.remainingMs, () => new CallStopped('deadline'), [
      origin.signal,
      this.#shutdown.signal,
    ]);
    // One handler may have any number of nested reaches under way.
    setMaxListeners(0, timer.signal);
    const context = this.#contextOf(call, { budget, signal: timer.signal, origin });
    this.#inFlight += 1;
    const answer = this.#work(handler, call, context).finally(() => {
      timer.clear();
      this.#inFlight -= 1;
      if (this.#inFlight === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
    return { answer, signal: timer.signal };
  }

  async #work(handler: AgentHandler, call: AgentCall, context: AgentContext): Promise<JsonObject> {
    try {
      const work = async () => toOutput(await handler(call.payload, context), call.ability);
      return await this.options.consumption.consume({ call, context, work });
    } catch (caught) {
      const stopped = stopReason(context.signal);
      const error = failureOf(caught, stopped);
      logFailure(context.log, { caught, error, stopped });
      throw error;
    }
  }

  #check(value: unknown): AgentCall {
    try {
      return checkCall(value);
    } catch (caught) {
      throw caught instanceof CallFault ? caught.error : caught;
    }
  }

  #handlerOf(ability: string): AgentHandler {
    const handler = Object.hasOwn(this.options.handlers, ability) ? this.options.handlers[ability] : undefined;
    if (handler) return handler;
    throw new ReachError(
      'agent_rejected',
      `This agent has no ability \`${ability}\`; it was registered with another descriptor`,
    );
  }

  #contextOf(call: AgentCall, run: { budget: Budget; signal: AbortSignal; origin: CallOrigin }): AgentContext {
    const fields = { reach_id: call.reach_id, ability: call.ability, attempt: call.attempt };
    return {
      reachId: call.reach_id,
      messageId: call.message_id,
      ability: call.ability,
      type: call.type,
      attempt: call.attempt,
      idempotencyKey: call.idempotency_key,
      sourceAgent: call.source_agent,
      group: call.group,
      version: call.version,
      contextId: call.context_id,
      context: call.context_id === null ? null : this.#clientOf(run).context(call.context_id),
      ...(call.event && { event: call.event }),
      fence: call.fence,
      deliverySemantics: call.delivery_semantics,
      bypass: call.bypass,
      traceparent: run.origin.traceparent,
      reach: this.#nested(call, run),
      signal: run.signal,
      log: withFields(this.options.log, fields),
      get deadlineMs() {
        return run.budget.remainingMs;
      },
    };
  }

  #nested(
    { context_id: contextId, group }: AgentCall,
    run: { budget: Budget; signal: AbortSignal; origin: CallOrigin },
  ): NestedReaches {
    const { budget, signal } = run;
    const remainingMs = () => budget.remainingMs;
    return new NestedReaches(this.#clientOf(run), { remainingMs, signal, contextId, group });
  }

  #clientOf({ budget, origin }: { budget: Budget; origin: CallOrigin }): AgentReachClient {
    const headers = () => ({
      ...origin.naming,
      ...(origin.traceparent !== '' && { traceparent: origin.traceparent }),
      'x-reach-deadline-ms': String(Math.max(1, Math.floor(budget.remainingMs))),
    });
    return this.options.clientFor(headers);
  }
}

/** What the handler said on purpose, and a cancellation, are no news; anything else is kept with its stack. */
function logFailure(
  log: AgentLog,
  failure: { caught: unknown; error: ReachError; stopped: StopReason | undefined },
): void {
  const { caught, error, stopped } = failure;
  if (stopped === 'cancelled') return log.info({}, 'the reach was cancelled');
  if (caught instanceof AgentRejected || caught instanceof AgentBusy)
    return log.info({ code: error.code }, error.message);
  log.warn({ code: error.code, err: caught }, 'the attempt failed');
}

/** Why a call's signal aborted; undefined while it has not. */
export function stopReason(signal: AbortSignal): StopReason | undefined {
  return signal.aborted && signal.reason instanceof CallStopped ? signal.reason.reason : undefined;
}

function withFields(log: AgentLog, fields: object): AgentLog {
  return {
    debug: (more, message) => log.debug({ ...fields, ...more }, message),
    info: (more, message) => log.info({ ...fields, ...more }, message),
    warn: (more, message) => log.warn({ ...fields, ...more }, message),
    error: (more, message) => log.error({ ...fields, ...more }, message),
  };
}
