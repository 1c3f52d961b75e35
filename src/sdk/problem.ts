import { isErrorCode, type ErrorCode } from '../protocol/error-codes';
import { ReachError, type Problem } from '../protocol/reach-error';

/** An answer that is not 2xx, as it came. */
export interface ErrorAnswer {
  status: number;
  text: string;
  /** From the `Retry-After` header, ms. */
  retryAfterMs?: number;
  /** Where it came from, for the message. */
  origin: string;
}

/** What something between us and the gateway means by a bare status. */
const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
};

/**
 * The error behind an HTTP answer: the problem document when there is one (RFC 9457), else the nearest code for a status
 * that some proxy, or something that is no gateway, answered.
 */
export function errorOf(answer: ErrorAnswer): ReachError {
  const problem = parseProblem(answer.text);
  if (problem)
    return ReachError.fromProblem({ ...problem, retry_after_ms: problem.retry_after_ms ?? answer.retryAfterMs });
  const code = CODE_OF_STATUS[answer.status] ?? (answer.status >= 500 ? 'engine_unavailable' : 'invalid_request');
  const message = `${answer.origin} answered ${answer.status} without a problem document; check that this is the URL of an Agent-Reach gateway`;
  return new ReachError(code, message, { retryAfterMs: answer.retryAfterMs });
}

function parseProblem(text: string): Problem | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const code = typeof value === 'object' && value !== null ? (value as { code?: unknown }).code : undefined;
    return isErrorCode(code) ? (value as Problem) : undefined;
  } catch {
    return undefined;
  }
}
