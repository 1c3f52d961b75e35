import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { ERROR_TABLE } from '../protocol/error-codes';
import { ReachError, type Problem } from '../protocol/reach-error';

/** Members beyond a problem's own, or in their place. */
interface ProblemMembers {
  replayed?: true;
  /** A precondition failed, and the title of the code does not say of what. */
  status?: 412;
  title?: string;
}

/** Sends a problem document (RFC 9457) with the status of its code, unless `more` says otherwise. */
export function sendProblem(response: Response, error: ReachError, more: ProblemMembers = {}): void {
  const problem: Problem = { ...error.toProblem(), ...more };
  // However often it is sent again under this key, the outcome stays what it was until the reach is redriven.
  if (more.replayed) {
    problem.retryable = false;
    delete problem.retry_after_ms;
  }
  const retryAfterMs = problem.retry_after_ms;
  if (retryAfterMs !== undefined)
    response.setHeader('Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1_000))));
  if (problem.reach_id) response.setHeader('X-Reach-Id', problem.reach_id);
  response.locals.code = error.code;
  response.status(problem.status).type('application/problem+json').send(JSON.stringify(problem));
}

/** Everything that no route took. */
export const unmatched: RequestHandler = (request, response) => {
  sendProblem(
    response,
    new ReachError(
      'not_found',
      `There is nothing at ${request.method} ${request.path.slice(0, 200)}; GET /docs lists what there is`,
    ),
  );
};

/** The one place where errors become answers. Causes and stacks go to the log only. */
export function errorHandler(logger: Logger): ErrorRequestHandler {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- Express knows error handlers by their four parameters
  return (caught, request, response, _next) => {
    const error = fromExpress(caught) ?? ReachError.from(caught);
    request.baseUrl = (response.locals.mountedAt as string | undefined) ?? request.baseUrl;
    const { class: errorClass } = ERROR_TABLE[error.code];
    const facts = {
      code: error.code,
      method: request.method,
      err: error.cause ?? (error.code === 'internal' ? error : undefined),
    };
    if (errorClass === 'platform') logger.error(facts, error.message);
    else logger.debug(facts, error.message);
    // What has begun, such as a stream of events, can only be broken off: its reader sees that and connects again.
    if (response.headersSent) return void response.destroy();
    sendProblem(response, error);
  };
}

/** What Express and its body reader throw, in our words. */
function fromExpress(caught: unknown): ReachError | null {
  const error = caught as { type?: string; status?: number; limit?: number };
  switch (error?.type) {
    case 'entity.too.large':
      return new ReachError(
        'payload_too_large',
        `The body is over the limit of ${error.limit} bytes; send less, or the payload of a reach in chunks (PUT /v1/payloads/{message_id}/chunks/{sequence}) with its payload_ref`,
        {
          extra: { details: { limit_bytes: error.limit } },
        },
      );
    case 'encoding.unsupported':
      return new ReachError(
        'unsupported_media_type',
        'The content encoding is not supported; send the body as it is or gzipped',
      );
    case 'request.aborted':
    case 'request.size.invalid':
      return new ReachError('invalid_request', 'The body ended before its announced length');
    default:
      return error?.status === 400
        ? new ReachError('invalid_request', 'The request cannot be read; check the path and its encoding')
        : null;
  }
}
