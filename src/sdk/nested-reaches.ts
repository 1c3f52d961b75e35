import type { EnvelopeDraft } from '../protocol/envelope';
import type { JsonObject, Receipt } from '../protocol/shapes';
import type { AgentReachClient } from './client';
import type { InvokeOptions, RequestOptions, WaitOptions } from './client-types';
import type { Cancelling, ReachResult, ReachView } from './wire-types';

/** The call that nested reaches are made for. */
export interface NestingCall {
  /** What is left of it now, ms. */
  remainingMs: () => number;
  /** Aborts when it is cancelled or over. */
  signal: AbortSignal;
  contextId: string | null;
  group: string;
}

/**
 * Reaches that an agent makes while it works on a call (R10). They inherit what is left of it: deadline, the retries of the whole
 * tree, trace, context and ancestry; they are cancelled with it, and a chain that would loop or is too deep is refused
 * (`delegation_loop`). A call that is delivered again makes them again: give an `idempotency_key` to what must not be done twice.
 */
export class NestedReaches {
  constructor(
    private readonly client: AgentReachClient,
    private readonly call: NestingCall,
  ) {}

  /** As `AgentReachClient.invokeAbility`, within the deadline of the call. */
  invokeAbility<T = JsonObject>(
    ability: string,
    payload: JsonObject,
    options: InvokeOptions = {},
  ): Promise<ReachResult<T>> {
    const { timeoutMs, signal, onReceipt, cancelOnAbort, ...rest } = options;
    return this.invoke<T>({ ...rest, ability, payload }, { timeoutMs, signal, onReceipt, cancelOnAbort });
  }

  /** As `AgentReachClient.invoke`, within the deadline of the call. */
  async invoke<T = JsonObject>(draft: EnvelopeDraft, options: WaitOptions = {}): Promise<ReachResult<T>> {
    const timeoutMs = this.#within(options.timeoutMs ?? draft.timeout_ms);
    return this.client.invoke<T>(this.#inherit(draft), {
      cancelOnAbort: true,
      ...options,
      timeoutMs,
      signal: this.#signal(options.signal),
    });
  }

  /** Hands a message over that must be done within the deadline of the call; to hand over what may last longer use a client of your own. */
  async send(draft: EnvelopeDraft, options: RequestOptions = {}): Promise<Receipt> {
    const timeout_ms = this.#within(draft.timeout_ms);
    return this.client.send({ ...this.#inherit(draft), timeout_ms }, { signal: this.#signal(options.signal) });
  }

  /** Waits for the end of a reach that was made for this call. */
  async wait<T = JsonObject>(reachId: string, options: WaitOptions = {}): Promise<ReachResult<T>> {
    const timeoutMs = this.#within(options.timeoutMs);
    return this.client.wait<T>(reachId, {
      cancelOnAbort: true,
      ...options,
      timeoutMs,
      signal: this.#signal(options.signal),
    });
  }

  /** What is known of a reach that was made for this call. */
  get(reachId: string, options: RequestOptions & { waitSec?: number } = {}): Promise<ReachView> {
    return this.client.get(reachId, { ...options, signal: this.#signal(options.signal) });
  }

  /** Cancels a reach that was made for this call. */
  cancel(reachId: string, options: RequestOptions = {}): Promise<Cancelling> {
    return this.client.cancel(reachId, options);
  }

  #within(timeoutMs: number | undefined): number {
    return Math.max(1, Math.floor(Math.min(timeoutMs ?? Infinity, this.call.remainingMs())));
  }

  #signal(own: AbortSignal | undefined): AbortSignal {
    return own ? AbortSignal.any([own, this.call.signal]) : this.call.signal;
  }

  #inherit(draft: EnvelopeDraft): EnvelopeDraft {
    const { contextId, group } = this.call;
    return { group, ...(contextId !== null && { context_id: contextId }), ...draft };
  }
}
