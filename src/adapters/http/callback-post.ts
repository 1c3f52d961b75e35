import { request, type Dispatcher } from 'undici';
import { assertUrlAllowed, type EgressPolicy } from '../../policy/egress';
import { parseRetryAfterMs } from '../../policy/retry';
import { ReachError } from '../../protocol/reach-error';
import { networkFailure } from './wire-codes';

/** Bytes of an answer that are read before its connection is dropped; nothing of it is kept. */
const MAX_ANSWER_BYTES = 65_536;

/** One POST to a receiver. */
export interface CallbackRequest {
  url: string;
  /** The very text that was signed. */
  body: string;
  headers: Record<string, string>;
  /** For the whole exchange, ms. */
  timeoutMs: number;
  /** Gives it up before. */
  signal: AbortSignal;
}

/**
 * Posts to receivers of callbacks (R5): only where the egress policy allows, at each attempt anew, on the address that was
 * checked; no redirects, no retries. What the receiver says is not kept: who chose the URL could read it otherwise.
 */
export class CallbackPoster {
  constructor(private readonly options: { dispatcher: Dispatcher; egress: EgressPolicy; userAgent: string }) {}

  /** @throws ReachError `callback_url_forbidden`, `agent_timeout`, `agent_unavailable`, `agent_protocol_error`, `engine_unavailable` */
  async post({ url, body, headers, ...limits }: CallbackRequest): Promise<{ status: number; retryAfterMs?: number }> {
    const target = assertUrlAllowed(url, this.options.egress, 'the callback');
    const signal = AbortSignal.any([limits.signal, AbortSignal.timeout(limits.timeoutMs)]);
    try {
      const response = await request(target, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': this.options.userAgent, ...headers },
        body,
        dispatcher: this.options.dispatcher,
        signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      // Whatever comes of the rest: the status has been said.
      await response.body.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => response.body.destroy());
      const header = response.headers['retry-after'];
      const retryAfterMs = parseRetryAfterMs(Array.isArray(header) ? header[0] : header, new Date().getTime());
      return { status: response.statusCode, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    } catch (caught) {
      throw this.classify(caught, limits, signal);
    }
  }

  /** Closes the connections; posts that run are ended first. */
  close(): Promise<void> {
    return this.options.dispatcher.close();
  }

  private classify(
    caught: unknown,
    { signal, timeoutMs }: Pick<CallbackRequest, 'signal' | 'timeoutMs'>,
    ended: AbortSignal,
  ): ReachError {
    if (signal.aborted)
      return new ReachError('engine_unavailable', 'The attempt was cut short when its worker shut down', {
        cause: caught,
      });
    if (ended.aborted)
      return new ReachError('agent_timeout', `The receiver did not answer within ${timeoutMs} ms`, { cause: caught });
    const error = caught as { code?: unknown; cause?: { code?: unknown } };
    const code = error?.code ?? error?.cause?.code;
    const { code: reason, says } = networkFailure(typeof code === 'string' ? code : undefined);
    return new ReachError(reason, `The receiver ${says}`, { cause: caught });
  }
}
