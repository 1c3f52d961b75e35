import { type IncomingMessage, type ServerResponse } from 'node:http';
import { ERROR_TABLE, type ErrorCode } from '../protocol/error-codes';
import { MAX_DEPTH } from '../protocol/limits';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../protocol/payload-ref';
import { ReachError } from '../protocol/reach-error';
import { parseJsonStrict } from '../protocol/strict-json';

/**
 * The status by which an HTTP agent says what went wrong, so that the caller's classes come out right (R26): 429 was not
 * begun, 501 and other 4xx never work, other 5xx may work later.
 */
const STATUS_OF_CODE: Partial<Record<ErrorCode, number>> = {
  agent_rejected: 422,
  agent_busy: 429,
  agent_error: 500,
  agent_protocol_error: 501,
  agent_response_too_large: 501,
  agent_unavailable: 503,
  agent_timeout: 504,
};

const MAX_BODY_BYTES = DEFAULT_MAX_PAYLOAD_BYTES + 1_048_576;

/** A payload may be as deep as any document, and the call is one level around it. */
const MAX_CALL_DEPTH = MAX_DEPTH + 1;

/** Reads a JSON body: a payload of at most 64 MiB and what surrounds it. Throws a coded {@link ReachError} for anything else. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    throw new ReachError('unsupported_media_type', 'Send the call as application/json');
  }
  const bytes = await readBytes(request);
  return parseJsonStrict(bytes, { what: 'the call', maxDepth: MAX_CALL_DEPTH });
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const tooLarge = () =>
    new ReachError('payload_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes; send less`);
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * Answers with JSON; nothing when the caller has hung up. The answer ends only when the system has taken all of it: a server that
 * closes takes the connection of one that has ended for idle, and destroys it with what still waits to leave.
 */
export function send(response: ServerResponse, status: number, body: object, type = 'application/json'): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.write(text, () => response.end());
}

/** Answers with the error as a problem document, `Retry-After` in whole seconds. */
export function sendError(response: ServerResponse, error: ReachError): void {
  const status = STATUS_OF_CODE[error.code] ?? ERROR_TABLE[error.code].status;
  if (status === 413 && !response.headersSent) response.setHeader('connection', 'close'); // the rest of the body is not read
  const { retryAfterMs } = error.options;
  const { detail, ...problem } = error.toProblem();
  if (retryAfterMs !== undefined && !response.headersSent)
    response.setHeader('retry-after', Math.ceil(retryAfterMs / 1000));
  // The detail comes first: dead letters quote the beginning of an answer.
  send(response, status, { detail, ...problem, status }, 'application/problem+json');
}

/** Answers a request that is no call. */
export function refuse(response: ServerResponse, status: number, detail: string): void {
  send(response, status, { type: 'about:blank', status, detail }, 'application/problem+json');
}
