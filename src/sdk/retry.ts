import { ReachError } from '../protocol/reach-error';

/** First pause before a request is repeated, ms; doubles each time (R26). */
const BASE_MS = 100;
/** Longest pause that the client chooses by itself, ms. */
const CAP_MS = 2_000;

/** Failures before a connection existed: the gateway cannot have seen the request. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Failures on a connection: the gateway may have seen the request. */
const UNCLEAR = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** When a lost request may be repeated: `always` for what is idempotent, `unsent` when it surely did not arrive. */
export type RetryRule = 'always' | 'unsent' | 'never';

/** What a failed exchange says about repeating it. */
export interface Failure {
  error: ReachError;
  /** False when the gateway cannot have acted on the request. */
  maybeActed: boolean;
  /** True when the same request may go through a little later. */
  passing: boolean;
}

/** No answer within the time of one exchange. */
export class AttemptTimeout extends Error {
  readonly code = 'UND_ERR_HEADERS_TIMEOUT';
  constructor(ms: number) {
    super(`did not answer within ${Math.round(ms)} ms; what was sent may have been accepted`);
  }
}

/** The system or undici code of a network error, also when it is the cause or one of several (happy eyeballs). */
export function networkCode(caught: unknown): string | undefined {
  if (typeof caught !== 'object' || caught === null) return undefined;
  const { code, errors, cause } = caught as { code?: unknown; errors?: unknown[]; cause?: unknown };
  const own = typeof code === 'string' ? code : undefined;
  if (own !== undefined && (NOT_SENT.has(own) || UNCLEAR.has(own))) return own;
  return networkCode(errors?.[0] ?? cause) ?? own;
}

/** Classifies an error of the HTTP client. `origin` names the gateway in the message. */
export function networkFailure(caught: unknown, origin: string): Failure {
  const code = networkCode(caught) ?? 'unknown';
  const what = caught instanceof AttemptTimeout ? caught.message : `cannot be reached (${code})`;
  const message = `The gateway at ${origin} ${what}; start it with \`agent-reach dev\`, or check the URL`;
  const error = new ReachError('engine_unavailable', message, { cause: caught, extra: { details: { network: code } } });
  return {
    error,
    maybeActed: !NOT_SENT.has(code),
    passing: code !== 'ENOTFOUND' && (NOT_SENT.has(code) || UNCLEAR.has(code)),
  };
}

/**
 * Classifies a coded answer. Only the platform's own refusals pass: it accepted nothing (`engine_unavailable`,
 * `rate_limited`). An agent's failure is an outcome, and Agent-Reach has already retried it.
 */
export function answerFailure(error: ReachError): Failure {
  const passing = error.code === 'engine_unavailable' || error.code === 'rate_limited';
  return { error, maybeActed: error.code === 'engine_unavailable', passing };
}

/** True when the request may be sent again under `rule`. */
export function mayRepeat(failure: Failure, rule: RetryRule): boolean {
  if (!failure.passing || rule === 'never') return false;
  return rule === 'always' || !failure.maybeActed;
}

/**
 * The pause before repeat number `n` (1 = the first): 100 ms doubled each time up to 2 s, ±50 % jitter (R26). It is never
 * less than what `Retry-After` asks for; up to half of that, at most 2 s, comes on top, as everybody is asked for the same.
 */
export function pauseMs(n: number, retryAfterMs: number | undefined, random: () => number): number {
  const own = Math.min(CAP_MS, BASE_MS * 2 ** Math.min(n - 1, 16));
  const asked = retryAfterMs ?? 0;
  const spread = Math.min(CAP_MS, Math.max(own, asked / 2));
  return Math.max(own / 2, asked) + spread * random();
}
