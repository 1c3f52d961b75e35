import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { DEFAULT_TENANT } from '../protocol/limits';
import { ReachError } from '../protocol/reach-error';
import { header, type RequestIdentity } from './http';

/**
 * One static API key, as `Authorization: Bearer …` or `X-API-Key`. Only its hash is kept; comparison takes the
 * same time whatever was sent. Without a key the gateway must listen on loopback only (checked at start).
 *
 * @throws ReachError `unauthorized`
 */
export function authenticate(apiKey: string | null): RequestHandler {
  const expected = apiKey === null ? null : digest(apiKey);
  return (request, response, next) => {
    const identity: RequestIdentity = { principal: expected ? 'api-key' : 'local', tenant: DEFAULT_TENANT };
    if (
      expected &&
      !timingSafeEqual(digest(credential(header(request, 'authorization'), header(request, 'x-api-key'))), expected)
    ) {
      response.setHeader('WWW-Authenticate', 'Bearer');
      throw new ReachError('unauthorized', 'The API key is missing or wrong; send it as Authorization: Bearer KEY');
    }
    response.locals.identity = identity;
    next();
  };
}

function credential(authorization: string | undefined, apiKey: string | undefined): string {
  const bearer = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  return bearer ?? apiKey ?? '';
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
