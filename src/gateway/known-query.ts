import type { RequestHandler } from 'express';
import { z } from 'zod';
import { OPERATIONS } from '../protocol/openapi';
import { validate } from '../protocol/validation';

/** An operation as requests are told by: `GET` of a path that fits. */
interface Known {
  method: string;
  path: RegExp;
  /** Characters of the template that are no parameter: of those that fit, the one with the most is meant. */
  literal: number;
  names: z.ZodObject;
}

/** What is declared of an operation: its place, and the parameters of its query. */
export type Declared = Pick<(typeof OPERATIONS)[number], 'method' | 'path' | 'query'>;

/**
 * Refuses query parameters that the operation does not declare: a filter with a typing error, silently ignored, answers what nobody
 * asked for. The names are those of the OpenAPI document; their values are the operation's own business. What no operation
 * fits passes, and is found to be nothing further on.
 *
 * @param operations default: all of this release
 * @throws ReachError `invalid_request` with a pointer to each unknown name, and the nearest known one as the fix
 */
export function knownQuery(operations: readonly Declared[] = OPERATIONS): RequestHandler {
  const known = operations.map(compiled).sort((a, b) => b.literal - a.literal);
  return (request, _response, next) => {
    if (Object.keys(request.query).length > 0) {
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      const path = `${request.baseUrl}${request.path}`;
      const operation = known.find((one) => one.method === method && one.path.test(path));
      if (operation) validate(operation.names, request.query, { what: 'the query' });
    }
    next();
  };
}

/** Paths as Express takes them: in any case, and with a slash at the end or none. */
function compiled({ method, path, query }: Declared): Known {
  const parts = path.split(/\{[^{}]+\}/);
  const pattern = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^/]+');
  const names = Object.keys(query?.shape ?? {}).map((name) => [name, z.unknown().optional()]);
  return {
    method: method.toUpperCase(),
    path: new RegExp(`^${pattern}/?$`, 'i'),
    literal: parts.join('').length,
    names: z.strictObject(Object.fromEntries(names) as z.ZodRawShape),
  };
}
