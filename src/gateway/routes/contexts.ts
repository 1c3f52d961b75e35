import { Router, type Request } from 'express';
import {
  contextIdSchema,
  contextQuerySchema,
  MAX_CONTEXT_OPERATIONS,
  type Context,
  type ContextPatched,
} from '../../protocol/context';
import { assertPathId } from '../../protocol/path-id-check';
import { ReachError } from '../../protocol/reach-error';
import { validate } from '../../protocol/validation';
import { bodyText, handle, identityOf, param } from '../http';
import { isTextAnswer, sendText, type TextAnswer } from '../large-context';

/** What the routes call: the Context Store. */
export interface ContextRouteDependencies {
  contexts: {
    open(contextId: string, only?: readonly string[]): Promise<Context | TextAnswer>;
    /** `body`: a `ContextPatch` as JSON. */
    patchJson(request: { contextId: string; body: Uint8Array; by: string }): Promise<ContextPatched>;
    delete(contextId: string): Promise<boolean>;
  };
}

/** `/v1/contexts/{id}` (R32); to be mounted at `/v1/contexts`. */
export function contextRoutes({ contexts }: ContextRouteDependencies): Router {
  const router = Router();

  router.get(
    '/:id',
    handle(async (request, response) => {
      const context = await contexts.open(contextIdOf(request), fieldsOf(request));
      if (isTextAnswer(context)) return sendText(response, context);
      response.json(context);
    }),
  );

  router.patch(
    '/:id',
    handle(async (request, response) => {
      const contextId = contextIdOf(request);
      const { text: body } = bodyText(request);
      const { principal, scope } = identityOf(response);
      // An agent is marked with its version (R21).
      response.json(await contexts.patchJson({ contextId, body, by: scope?.writer ?? principal }));
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
  const id = validate(contextIdSchema, param(request, 'id'), { what: 'the id of the context' });
  assertPathId(id, { what: 'the id of the context', example: 'ticket-4711' });
  return id;
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
