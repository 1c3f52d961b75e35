/**
 * Small translations between Express and the rooms behind it: bodies, headers, and who is asking.
 */
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { isOverSize } from '../policy/json-size';
import { DEFAULT_WAIT_MS, MAX_PAYLOAD_BYTES, MAX_WAIT_SEC } from '../protocol/limits';
import { parseContentType, type BodyFormat } from '../protocol/media-type';
import { ReachError } from '../protocol/reach-error';
import type { Json } from '../protocol/shapes';
import { parseJsonStrict } from '../protocol/strict-json';

/** Who is asking, as authentication found; and the request's id and trace. */
export interface RequestIdentity {
  principal: string;
  tenant: string;
  /** Set for who showed a reach token and no key: what belongs to this reach, and nothing else. */
  scope?: { reachId: string; contextId: string | null; /** `name#version` of the agent. */ writer?: string };
}

/** Set by the authentication middleware; absent only where a route is public. */
export function identityOf(response: Response): RequestIdentity {
  const identity = response.locals.identity as RequestIdentity | undefined;
  if (!identity) throw new ReachError('unauthorized', 'The request was not authenticated');
  return identity;
}

/**
 * A handler whose error, thrown or rejected, reaches the error middleware. Notes where its router is mounted: Express
 * forgets that on the way there, and metrics are labelled with the whole route.
 */
export function handle(run: (request: Request, response: Response) => Promise<void> | void): RequestHandler {
  return async (request: Request, response: Response, next: NextFunction) => {
    response.locals.mountedAt = request.baseUrl;
    try {
      await run(request, response);
    } catch (caught) {
      next(caught);
    }
  };
}

/** The raw body with its format. @throws ReachError 415 for anything but the accepted formats in UTF-8 */
export function bodyText(
  request: Request,
  accepted: readonly BodyFormat[] = ['json'],
): { text: Uint8Array; format: BodyFormat } {
  const { format } = parseContentType(request.headers['content-type'], accepted);
  const body: unknown = request.body;
  return { text: Buffer.isBuffer(body) ? body : new Uint8Array(), format };
}

/** The body as strict JSON (R2 traps: duplicate keys, depth, exact numbers, UTF-8). */
export function jsonBody(request: Request): Json {
  return parseJsonStrict(bodyText(request).text);
}

/** A single header's value; a repeated header counts as its first. */
export function header(request: Request, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** A path parameter. */
export function param(request: Request, name: string): string {
  const value = request.params[name];
  return typeof value === 'string' ? value : '';
}

/**
 * How long the caller holds the connection (RFC 7240): `Prefer: wait=N` seconds, `respond-async` for not at
 * all; preferences that cannot be read are ignored, as the RFC asks. Result in ms.
 */
export function preferredWaitMs(request: Request, timeoutMs: number, mode: 'sync' | 'async'): number {
  const preferences = (header(request, 'prefer') ?? '')
    .toLowerCase()
    .split(/[,;]/)
    .map((part) => part.trim());
  if (preferences.includes('respond-async')) return 0;
  const wait = preferences
    .map((part) => /^wait\s*=\s*"?(\d{1,6})"?$/.exec(part)?.[1])
    .find((seconds) => seconds !== undefined);
  if (wait !== undefined) return Math.min(Number(wait), MAX_WAIT_SEC) * 1_000;
  return mode === 'async' ? 0 : Math.min(timeoutMs, DEFAULT_WAIT_MS);
}

/** `?wait=N` of a long poll as ms. @throws ReachError 400 unless it is whole seconds from 0 to 60 */
export function queryWaitMs(request: Request): number {
  const raw = request.query.wait;
  if (raw === undefined) return 0;
  if (typeof raw === 'string' && /^\d{1,2}$/.test(raw) && Number(raw) <= MAX_WAIT_SEC) return Number(raw) * 1_000;
  throw new ReachError('invalid_request', `The wait must be whole seconds from 0 to ${MAX_WAIT_SEC}`, {
    errors: [
      { pointer: '/wait', message: `must be whole seconds from 0 to ${MAX_WAIT_SEC}`, fix: 'ask again to wait longer' },
    ],
  });
}

/** What is carried counts, not the envelope around it. @throws ReachError `payload_too_large` */
export function assertSize(request: Request, carried: Json, pointer: string): void {
  const body: unknown = request.body;
  if (!Buffer.isBuffer(body) || !isOverSize(carried, body.byteLength, MAX_PAYLOAD_BYTES)) return;
  const message = `must not be over ${MAX_PAYLOAD_BYTES} bytes as compact JSON`;
  throw new ReachError(
    'payload_too_large',
    `What is sent ${message}; upload it in chunks (PUT /v1/payloads/{message_id}/chunks/{sequence}) and send its payload_ref`,
    {
      errors: [{ pointer, message }],
    },
  );
}
