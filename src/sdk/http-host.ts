import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { timingSafeEqual } from 'node:crypto';
import { type AddressInfo } from 'node:net';
import { ReachError } from '../protocol/reach-error';
import type { AgentCall, JsonObject } from '../protocol/shapes';
import { CallStopped } from './agent-errors';
import type { AgentHost } from './agent-host';
import type { AgentLog, HttpHostOptions } from './agent-types';
import { stopReason, type CallRunner, type RunningCall } from './call-runner';
import { readJson, refuse, send, sendError } from './http-wire';
import type { LateDelivery } from './late-delivery';
import { Budget, settledWithin } from './time';

/** What a {@link HttpHost} is made of. */
export interface HttpHostParts {
  runner: CallRunner;
  options?: HttpHostOptions;
  /** Delivers what is answered after "accepted". */
  late: LateDelivery;
  log: AgentLog;
}

/** Outlives the idle time of the gateway's pool, so that a kept connection is not closed under a request, ms. */
const KEEP_ALIVE_MS = 65_000;
/** How long aborted handlers may take to notice, and answers to leave when the grace is over, before connections are cut, ms. */
const ABORT_GRACE_MS = 1_000;

/**
 * Serves `POST /` (one call, JSON in and out) and `GET /healthz` on a small HTTP server. A handler that outlives its
 * deadline is answered for (504) but still counts as in flight; a caller that hangs up aborts its handler.
 */
export class HttpHost implements AgentHost {
  readonly ended: Promise<void>;
  readonly #server: Server;
  /** Requests whose answer has not left yet. */
  #unanswered = 0;
  #allAnswered: () => void = () => undefined;

  private constructor(
    private readonly runner: CallRunner,
    private readonly options: HttpHostOptions,
    private readonly late: LateDelivery,
    private readonly log: AgentLog,
  ) {
    this.#server = createServer((request, response) => {
      this.#count(response);
      void this.#serve(request, response);
    });
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.ended = new Promise((resolve, reject) => this.#server.once('close', resolve).once('error', reject));
    this.ended.catch(() => undefined);
  }

  /** Listens; rejects when the port is taken. */
  static async start({ runner, options = {}, late, log }: HttpHostParts): Promise<HttpHost> {
    const host = new HttpHost(runner, options, late, log);
    await new Promise<void>((resolve, reject) => {
      host.#server.once('error', reject);
      host.#server.listen(options.port ?? 0, options.bindAddress ?? '127.0.0.1', () => resolve());
    });
    return host;
  }

  /** The URL that the gateway is to call. */
  get url(): string {
    if (this.options.publicUrl !== undefined) return this.options.publicUrl;
    const { address, port, family } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  async drain(graceMs: number): Promise<void> {
    const budget = new Budget(graceMs);
    this.#server.close();
    this.#server.closeIdleConnections();
    if (!(await settledWithin(this.runner.idle(), graceMs))) {
      this.runner.abortAll();
      await settledWithin(this.runner.idle(), ABORT_GRACE_MS);
    }
    // An answer that is larger than what a socket takes at once needs a while to leave.
    const gone = Promise.all([this.#answered(), this.late.settled()]);
    await settledWithin(gone, Math.max(budget.remainingMs, ABORT_GRACE_MS));
    this.#server.closeAllConnections();
  }

  #count(response: ServerResponse): void {
    this.#unanswered += 1;
    response.once('close', () => {
      this.#unanswered -= 1;
      if (this.#unanswered === 0) this.#allAnswered();
    });
  }

  /** Resolves when every answer has left, or its caller. */
  async #answered(): Promise<void> {
    if (this.#unanswered > 0) await new Promise<void>((resolve) => (this.#allAnswered = resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const path = (request.url ?? '/').split('?')[0];
      if (path === '/healthz' && request.method === 'GET') return this.#health(response);
      if (path !== '/' && path !== this.#publicPath())
        return refuse(response, 404, 'Only POST / and GET /healthz are served here');
      if (request.method !== 'POST') return refuse(response, 405, 'Calls are POSTed');
      if (!this.#authorised(request))
        return refuse(response, 401, 'The bearer token is missing or wrong; see `auth` in the descriptor');
      if (this.runner.status !== 'ready') return this.#turnAway(response);
      await this.#call(request, response);
    } catch (caught) {
      sendError(response, ReachError.from(caught));
    }
  }

  async #call(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readJson(request);
    if (this.runner.status !== 'ready') return this.#turnAway(response);
    const caller = new AbortController();
    response.once('close', () => response.writableFinished || caller.abort(new CallStopped('cancelled')));
    const traceparent = String(request.headers['traceparent'] ?? '');
    const token = request.headers['x-reach-token'];
    const naming: Record<string, string> = typeof token === 'string' ? { 'x-reach-token': token } : {};
    const { acceptAfterMs } = this.options;
    const openEnded = acceptAfterMs !== undefined && typeof token === 'string';
    const running = this.runner.start(body, { traceparent, naming, openEnded, signal: caller.signal });
    if (!openEnded) return send(response, 200, await answerInTime(running));
    if (await settledWithin(running.answer, acceptAfterMs)) return send(response, 200, await running.answer);
    const stop = () => caller.abort(new CallStopped('cancelled'));
    const reachId = (body as AgentCall).reach_id;
    this.late.follow({ reachId, token, running, stop, log: this.log });
    send(response, 202, { accepted: true });
  }

  #turnAway(response: ServerResponse): void {
    const draining = this.runner.status === 'draining';
    if (draining) response.setHeader('connection', 'close');
    const text = draining
      ? 'The agent is draining; another instance takes this'
      : 'All of max_concurrency is in use; the call was not begun';
    sendError(response, new ReachError('agent_busy', text, { retryAfterMs: 1_000 }));
  }

  #health(response: ServerResponse): void {
    send(response, 200, { status: this.runner.status, in_flight: this.runner.inFlight, load: this.runner.load });
  }

  #publicPath(): string {
    return this.options.publicUrl === undefined ? '/' : new URL(this.options.publicUrl).pathname;
  }

  #authorised(request: IncomingMessage): boolean {
    if (this.options.token === undefined) return true;
    const given = Buffer.from(request.headers.authorization ?? '');
    const wanted = Buffer.from(`Bearer ${this.options.token}`);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}

/** The answer, or `agent_timeout` at the deadline even when the handler does not listen to its signal. */
async function answerInTime({ answer, signal }: RunningCall): Promise<JsonObject> {
  answer.catch(() => undefined);
  let onAbort: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    onAbort = () => {
      const error = new ReachError(
        'agent_timeout',
        'The agent did not finish within its deadline; its handler ignores ctx.signal',
      );
      if (stopReason(signal) === 'deadline') setImmediate(() => reject(error)); // a handler that listens is heard first
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  return Promise.race([answer, late]).finally(() => signal.removeEventListener('abort', onAbort));
}
