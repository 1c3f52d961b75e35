import { Agent, request, type Dispatcher } from 'undici';
import { parseRetryAfterMs } from '../policy/retry';
import { ReachError } from '../protocol/reach-error';
import { isJsonText } from './json-text';
import { errorOf } from './problem';
import {
  answerFailure,
  AttemptTimeout,
  mayRepeat,
  networkFailure,
  pauseMs,
  type Failure,
  type RetryRule,
} from './retry';
import { Budget, monotonic, sleep, timedSignal, type Clock } from './time';

/** How to reach a gateway. */
export interface TransportOptions {
  /** Base URL of the gateway, e.g. `http://127.0.0.1:8080`; a path prefix is kept. */
  url: string;
  /** Sent as `Authorization: Bearer …`. */
  apiKey?: string;
  /** Most connections to the gateway; requests beyond it queue. Default 256. */
  maxConnections?: number;
  /** Most repeats of a lost request; default: as many as the request's time allows. */
  maxRetries?: number;
  /** Sent with every request, asked anew for each. */
  headers?: () => Record<string, string>;
  clock?: Clock;
  random?: () => number;
}

/** One request to the gateway. */
export interface TransportCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the base URL, already encoded. */
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  /** A string goes out as it stands (YAML or JSON), bytes as bytes, anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** For everything, repeats and pauses included, ms. */
  timeoutMs: number;
  /** For one exchange, ms; default the whole time. */
  attemptTimeoutMs?: number;
  retry: RetryRule;
}

/** A good answer, 2xx. */
export interface TransportAnswer<T> {
  status: number;
  body: T;
  /** The header `ETag`, where there is one. */
  etag?: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** A stream that says nothing for so long is lost: gateways send a sign of life every 10 s. */
const SILENCE_MS = 45_000;

/**
 * HTTP to one gateway: pooled connections, coded errors, safe repeats. Throws {@link ReachError} for every answer but
 * 2xx and for a gateway that cannot be reached (`engine_unavailable`), and the signal's reason when aborted.
 */
export class Transport {
  readonly origin: string;
  readonly #base: string;
  readonly #dispatcher: Agent;
  readonly #clock: Clock;
  readonly #random: () => number;

  /** @param shared connections that are somebody else's to close */
  constructor(
    private readonly options: TransportOptions,
    shared?: Agent,
  ) {
    const url = parseUrl(options.url);
    this.origin = url.origin;
    this.#base = url.origin + url.pathname.replace(/\/+$/, '');
    this.#dispatcher =
      shared ?? new Agent({ connections: options.maxConnections ?? 256, connect: { timeout: CONNECT_TIMEOUT_MS } });
    this.#clock = options.clock ?? monotonic;
    this.#random = options.random ?? Math.random;
  }

  /** Sends `call`, repeating it where its rule allows and time is left. */
  async request<T>(call: TransportCall): Promise<TransportAnswer<T>> {
    const budget = new Budget(call.timeoutMs, this.#clock);
    for (let n = 1; ; n += 1) {
      const outcome = await this.#attempt<T>(call, budget);
      if ('status' in outcome) return outcome;
      const pause = pauseMs(n, outcome.error.options.retryAfterMs, this.#random);
      const exhausted = n > (this.options.maxRetries ?? Infinity) || pause >= budget.remainingMs;
      if (exhausted || !mayRepeat(outcome, call.retry)) throw outcome.error;
      await sleep(pause, call.signal);
    }
  }

  /**
   * What a GET streams, as text, for as long as it lasts. Nothing is repeated.
   * @throws ReachError as {@link request} does, also when the connection is lost or silent for {@link SILENCE_MS}
   */
  async open({
    path,
    headers,
    signal,
  }: Pick<TransportCall, 'path' | 'headers' | 'signal'>): Promise<AsyncIterable<string>> {
    const { origin } = this;
    const lost = (caught: unknown) => {
      signal?.throwIfAborted();
      return networkFailure(caught, origin).error;
    };
    const call: TransportCall = { method: 'GET', path, headers, timeoutMs: CONNECT_TIMEOUT_MS, retry: 'never' };
    const options = { ...this.#requestOf(call, signal), headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS };
    const answer = await request(this.#urlOf(call), options).catch((caught: unknown) => {
      throw lost(caught);
    });
    const outcome = answer.statusCode >= 300 ? await this.#read<never>(answer) : null;
    if (outcome && 'error' in outcome) throw outcome.error;
    async function* pieces() {
      try {
        const decoder = new TextDecoder();
        for await (const bytes of answer.body) yield decoder.decode(bytes as Uint8Array, { stream: true });
      } catch (caught) {
        throw lost(caught);
      }
    }
    return pieces();
  }

  /** The same gateway over the same connections, with these headers on every request. Needs no closing. */
  with(headers: () => Record<string, string>): Transport {
    return new Transport({ ...this.options, headers }, this.#dispatcher);
  }

  /** Closes the pool once running requests are done. */
  close(): Promise<void> {
    return this.#dispatcher.close();
  }

  /** Closes the pool at once; running requests fail. */
  destroy(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  async #attempt<T>(call: TransportCall, budget: Budget): Promise<TransportAnswer<T> | Failure> {
    const ms = Math.min(budget.remainingMs, call.attemptTimeoutMs ?? Infinity);
    const timer = timedSignal(ms, () => new AttemptTimeout(ms), [call.signal]);
    try {
      const answer = await request(this.#urlOf(call), this.#requestOf(call, timer.signal));
      return await this.#read<T>(answer);
    } catch (caught) {
      call.signal?.throwIfAborted();
      return networkFailure(timer.signal.aborted ? timer.signal.reason : caught, this.origin);
    } finally {
      timer.clear();
    }
  }

  async #read<T>(answer: Dispatcher.ResponseData): Promise<TransportAnswer<T> | Failure> {
    const text = await answer.body.text();
    const retryAfter = answer.headers['retry-after'];
    const retryAfterMs =
      typeof retryAfter === 'string' ? parseRetryAfterMs(retryAfter, new Date().getTime()) : undefined;
    if (answer.statusCode >= 300)
      return answerFailure(errorOf({ status: answer.statusCode, text, retryAfterMs, origin: this.origin }));
    try {
      const { etag } = answer.headers;
      const body = (text === '' ? undefined : JSON.parse(text)) as T;
      return { status: answer.statusCode, body, ...(typeof etag === 'string' && { etag }) };
    } catch {
      return answerFailure(errorOf({ status: 502, text: '', retryAfterMs, origin: this.origin }));
    }
  }

  #urlOf(call: TransportCall): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {}))
      if (value !== undefined) query.set(name, String(value));
    const search = query.toString();
    return this.#base + call.path + (search && `?${search}`);
  }

  #requestOf(
    call: TransportCall,
    signal: AbortSignal | undefined,
  ): Omit<Dispatcher.RequestOptions, 'path' | 'origin'> & { dispatcher: Agent } {
    const { body } = call;
    return {
      dispatcher: this.#dispatcher,
      method: call.method,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
      headers: {
        accept: 'application/json, application/problem+json',
        ...(this.options.apiKey !== undefined && { authorization: `Bearer ${this.options.apiKey}` }),
        ...(body !== undefined && {
          'content-type': contentTypeOf(body),
        }),
        ...this.options.headers?.(),
        ...call.headers,
      },
      ...(body !== undefined && { body: isVerbatim(body) ? body : JSON.stringify(body) }),
    };
  }
}

const isVerbatim = (body: unknown): body is string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array;

function contentTypeOf(body: unknown): string {
  if (body instanceof Uint8Array) return 'application/octet-stream';
  return typeof body === 'string' && !isJsonText(body) ? 'application/yaml' : 'application/json';
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new ReachError(
    'invalid_request',
    `\`${text}\` is not the URL of a gateway; write it like http://127.0.0.1:8080`,
  );
}
