import { createHash, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { DEFAULT_TENANT } from '../protocol/limits';
import { ReachError } from '../protocol/reach-error';
import type { ReachTokens } from '../protocol/reach-token';
import { header, type RequestIdentity } from './http';
import type { Nesting } from './nesting';

/**
 * One static API key, as `Authorization: Bearer …` or `X-API-Key`. Only its hash is kept; comparison takes the
 * same time whatever was sent. Without a key the gateway must listen on loopback only (checked at start).
 *
 * An agent that holds no key may show the token of the call it is working on instead: it opens what {@link tokenMay} lists.
 *
 * @throws ReachError `unauthorized`
 */
export function authenticate(apiKey: string | null, calls?: CallsByToken): RequestHandler {
  const expected = apiKey === null ? null : digest(apiKey);
  return async (request, response, next) => {
    if (expected === null) {
      response.locals.identity = identity('local');
      return next();
    }
    const shown = credential(header(request, 'authorization'), header(request, 'x-api-key'));
    if (timingSafeEqual(digest(shown), expected)) {
      response.locals.identity = identity('api-key');
      return next();
    }
    const token = header(request, 'x-reach-token');
    if (shown === '' && token !== undefined && calls && tokenMay(request)) {
      response.locals.identity = await identityOfToken(calls, token, request);
      return next();
    }
    response.setHeader('WWW-Authenticate', 'Bearer');
    throw new ReachError('unauthorized', 'The API key is missing or wrong; send it as Authorization: Bearer KEY');
  };
}

/** What tells which call a reach token stands for, and whether that is still worked on. */
export interface CallsByToken {
  tokens: Pick<ReachTokens, 'verify'>;
  nesting: Pick<Nesting, 'confirm'>;
}

function identity(principal: string): RequestIdentity {
  return { principal, tenant: DEFAULT_TENANT };
}

/** What a reach token opens beside the late result: nested reaches with their payloads and their outcome, and the context of its reach. */
const OPEN_TO_TOKENS: readonly [method: string, path: RegExp][] = [
  ['POST', /^\/reaches\/?$/],
  ['GET', /^\/reaches\/r-[a-z2-7]{32}(\/events|\/trace)?$/],
  ['POST', /^\/reaches\/r-[a-z2-7]{32}:cancel$/],
  ['PUT', /^\/payloads\/[^/]+\/chunks\/\d+$/],
  ['POST', /^\/payloads\/[^/]+:complete$/],
  ['POST', /^\/topics\/[^/]+\/events$/],
  ['GET', /^\/contexts\/[^/]+$/],
  ['PATCH', /^\/contexts\/[^/]+$/],
];

function tokenMay({ method, path }: Request): boolean {
  return OPEN_TO_TOKENS.some(([verb, pattern]) => verb === method && pattern.test(path));
}

async function identityOfToken(
  { tokens, nesting }: CallsByToken,
  token: string,
  request: Request,
): Promise<RequestIdentity> {
  const { reachId, nested, attempt } = await tokens.verify(token);
  const contextId = nested?.inheritance.context_id ?? null;
  const context = /^\/contexts\/([^/]+)$/.exec(request.path)?.[1];
  if (context !== undefined && decode(context) !== contextId)
    throw new ReachError('not_found', 'There is no such context, or the reach token is not for it');
  // Nested reaches and events look at their call by themselves; contexts and payloads are written to at once.
  const atOnce = context !== undefined || request.path.startsWith('/payloads/');
  if (atOnce && nested) await nesting.confirm({ inheritance: nested.inheritance, attempt });
  const { agent_name, agent_version } = nested?.inheritance ?? {};
  const writer = agent_name && agent_version ? { writer: `${agent_name}#${agent_version}` } : {};
  return { ...identity(agent_name ?? reachId), scope: { reachId, contextId, ...writer } };
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function credential(authorization: string | undefined, apiKey: string | undefined): string {
  const bearer = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  return bearer ?? apiKey ?? '';
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
