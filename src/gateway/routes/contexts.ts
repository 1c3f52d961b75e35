import { Router, type Request } from 'express';
import {
  contextIdSchema,
  contextPatchSchema,
  contextQuerySchema,
  MAX_CONTEXT_OPERATIONS,
  type Context,
  type ContextOperation,
  type ContextPatched,
} from '../../protocol/context';
import { ReachError } from '../../protocol/reach-error';
import { validate } from '../../protocol/validation';
import { handle, identityOf, jsonBody, param } from '../http';

/** What the routes call: the Context Store. */
export interface ContextRouteDependencies {
  contexts: {
    get(contextId: string, only?: readonly string[]): Promise<Context>;
    patch(request: { contextId: string; operations: readonly ContextOperation[]; by: string }): Promise<ContextPatched>;
    delete(contextId: string): Promise<boolean>;
  };
}

/** `/v1/contexts/{id}` (R32); to be mounted at `/v1/contexts`. */
export function contextRoutes({ contexts }: ContextRouteDependencies): Router {
  const router = Router();

  router.get(
    '/:id',
    handle(async (request, response) => {
      response.json(await contexts.get(contextIdOf(request), fieldsOf(request)));
    }),
  );

  router.patch(
    '/:id',
    handle(async (request, response) => {
      const contextId = contextIdOf(request);
      const { operations } = validate(contextPatchSchema, jsonBody(request));
      const { principal: by } = identityOf(response);
      response.json(await contexts.patch({ contextId, operations: operations as ContextOperation[], by }));
    }),
  );

  router.delete(
    '/:id',
    handle(async (request, response) => {
      const contextId = contextIdOf(request);
      if (await contexts.delete(contextId)) return void response.status(204).end();
      throw new ReachError('not_found', `There is no context ${JSON.stringify(contextId)}`);
    }),
  );

  return router;
}

function contextIdOf(request: Request): string {
  return validate(contextIdSchema, param(request, 'id'), { what: 'the id of the context' });
}

/** A name with a comma in it can only be read with all the others. */
function fieldsOf(request: Request): string[] | undefined {
  const { fields } = validate(contextQuerySchema, request.query, { what: 'the query' });
  const names = fields?.split(',').filter((name) => name !== '');
  if (names === undefined || names.length <= MAX_CONTEXT_OPERATIONS) return names && [...new Set(names)];
  const message = `must not name more than ${MAX_CONTEXT_OPERATIONS} fields`;
  throw new ReachError('invalid_request', `/fields ${message}; leave it out to read them all`, {
    errors: [{ pointer: '/fields', message, fix: 'leave it out to read them all' }],
  });
}
