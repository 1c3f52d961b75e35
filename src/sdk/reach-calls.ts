import { v7 as uuidv7 } from 'uuid';
import type { EnvelopeDraft } from '../protocol/envelope';
import { DEFAULT_TIMEOUT_MS } from '../protocol/limits';
import { MAX_CHUNK_BYTES } from '../protocol/payload-ref';
import { ReachError } from '../protocol/reach-error';
import type { Receipt } from '../protocol/shapes';
import type { ClientOptions, RequestOptions, WaitOptions } from './client-types';
import { GatewayApi, NAMELESS, pathSegment } from './gateway-api';
import { compactOver, LargePayloads } from './large-payloads';
import { pollUntilEnd, resultOf } from './long-poll';
import { Budget, monotonic, type Clock } from './time';
import type { Transport } from './transport';
import type { Cancelling, ReachResult, ReachView, RouteExplanation } from './wire-types';

/** How long the POST of a sync reach is held before long polling begins, s. */
const POST_WAIT_SEC = 2;
/** The gateway ends a reach at its deadline and then says so: how much longer the client listens, ms. */
const VERDICT_GRACE_MS = 3_000;
/** How much longer than the asked-for hold one exchange may take, ms. */
const EXCHANGE_GRACE_MS = 5_000;
/** Most time for what is not waited for, ms. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Where a reach is found. @throws ReachError `invalid_request` for an empty id */
export const reachPath = (reachId: string) => `/v1/reaches/${pathSegment(reachId, NAMELESS)}`;

/**
 * How a reach is handed over and waited for: it carries a `message_id` made once, so that whatever is lost may be sent again
 * (R7), its payload goes ahead in chunks where it is large (R8), and its end is polled for (R5).
 */
export class ReachCalls {
  readonly #api: GatewayApi;
  readonly #payloads: LargePayloads;
  readonly #timeoutMs: number;
  readonly #clock: Clock;

  /** @param options `timeoutMs`: deadline of a sync reach that names none, default 10,000 */
  constructor(transport: Transport, options: Pick<ClientOptions, 'timeoutMs' | 'clock'>) {
    this.#api = new GatewayApi(transport, REQUEST_TIMEOUT_MS);
    this.#payloads = new LargePayloads(transport);
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#clock = options.clock ?? monotonic;
  }

  /** See `AgentReachClient.invoke`. */
  async invoke<T>(draft: EnvelopeDraft, options: WaitOptions): Promise<ReachResult<T>> {
    const timeoutMs = options.timeoutMs ?? draft.timeout_ms ?? this.#timeoutMs;
    const envelope = { ...draft, message_id: draft.message_id ?? uuidv7(), timeout_ms: timeoutMs };
    const budget = new Budget(timeoutMs + VERDICT_GRACE_MS, this.#clock);
    const waitSec = Math.max(1, Math.min(POST_WAIT_SEC, Math.ceil(timeoutMs / 1000)));
    const sent = await this.#withoutLargePayload(envelope, { budget, signal: options.signal });
    const first = await this.#post<ReachResult<T> | Receipt>(sent, {
      prefer: `wait=${waitSec}`,
      waitSec,
      budget,
      signal: options.signal,
    });
    if (first.status === 'completed') return first;
    options.onReceipt?.(first);
    return this.#await<T>(first.reach_id, budget, options);
  }

  /** See `AgentReachClient.send`. */
  async send(draft: EnvelopeDraft, options: RequestOptions): Promise<Receipt> {
    const whole = { mode: 'async' as const, ...draft, message_id: draft.message_id ?? uuidv7() };
    const upload = new Budget(draft.timeout_ms ?? Infinity, this.#clock);
    const envelope = await this.#withoutLargePayload(whole, { budget: upload, signal: options.signal });
    const budget = new Budget(Math.min(draft.timeout_ms ?? REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS), this.#clock);
    return this.#post<Receipt>(envelope, { prefer: 'respond-async', waitSec: 0, budget, signal: options.signal });
  }

  /** See `AgentReachClient.route`. */
  async route(envelope: EnvelopeDraft, options: RequestOptions): Promise<RouteExplanation> {
    const body = await this.#withoutLargePayload({ ...envelope, message_id: envelope.message_id ?? uuidv7() });
    return this.#api.call({ method: 'POST', path: '/v1/route', body, retry: 'always', ...options });
  }

  /** See `AgentReachClient.get`. */
  get(reachId: string, options: RequestOptions & { waitSec?: number }): Promise<ReachView> {
    return this.#poll(reachId, options.waitSec ?? 0, { timeoutMs: REQUEST_TIMEOUT_MS, signal: options.signal });
  }

  /** See `AgentReachClient.wait`. */
  wait<T>(reachId: string, options: WaitOptions): Promise<ReachResult<T>> {
    return this.#await<T>(reachId, new Budget(options.timeoutMs ?? this.#timeoutMs, this.#clock), options);
  }

  /** See `AgentReachClient.cancel`. */
  cancel(reachId: string, options: RequestOptions = {}): Promise<Cancelling> {
    return this.#api.call({ method: 'POST', path: `${reachPath(reachId)}:cancel`, retry: 'unsent', ...options });
  }

  async #await<T>(reachId: string, budget: Budget, options: WaitOptions): Promise<ReachResult<T>> {
    const { signal } = options;
    try {
      const poll = (waitSec: number, timeoutMs: number) => this.#poll(reachId, waitSec, { timeoutMs, signal });
      const view = await pollUntilEnd({ poll, budget, signal });
      if (view) return resultOf<T>(view);
    } catch (caught) {
      if (options.cancelOnAbort && signal?.aborted) await this.cancel(reachId).catch(() => undefined);
      throw caught;
    }
    const message = `Reach ${reachId} was not over after ${budget.totalMs} ms of waiting; it goes on: ask again with wait() or get()`;
    throw new ReachError('deadline_exceeded', message, { extra: { reach_id: reachId } });
  }

  #poll(reachId: string, waitSec: number, limits: { timeoutMs: number; signal?: AbortSignal }): Promise<ReachView> {
    const query = { wait: waitSec || undefined };
    const attemptTimeoutMs = waitSec * 1000 + EXCHANGE_GRACE_MS;
    return this.#api.get(reachPath(reachId), { query, attemptTimeoutMs, ...limits });
  }

  /**
   * The envelope as text; with its payload uploaded in chunks where that is large (R8). Uploading again what was uploaded
   * before sends nothing twice that the gateway has.
   */
  async #withoutLargePayload(
    envelope: EnvelopeDraft & { message_id: string },
    { budget, signal }: { budget?: Budget; signal?: AbortSignal } = {},
  ): Promise<string> {
    const text = JSON.stringify(envelope);
    const { payload, ...rest } = envelope;
    const content = payload && text.length * 3 > MAX_CHUNK_BYTES ? compactOver(payload, MAX_CHUNK_BYTES) : null;
    if (!content) return text;
    const payload_ref = await this.#payloads.upload(content, envelope.message_id, signal, budget);
    return JSON.stringify({ ...rest, payload_ref });
  }

  async #post<T>(
    envelope: string,
    how: { prefer: string; waitSec: number; budget: Budget; signal?: AbortSignal },
  ): Promise<T> {
    return this.#api.call<T>({
      method: 'POST',
      path: '/v1/reaches',
      body: envelope,
      headers: { prefer: how.prefer },
      attemptTimeoutMs: how.waitSec * 1000 + EXCHANGE_GRACE_MS,
      timeoutMs: how.budget.remainingMs,
      retry: 'always',
      signal: how.signal,
    });
  }
}
