import { Router, type Request } from 'express';
import { bulkRedriveRequestSchema, discardRequestSchema, redriveRequestSchema } from '../../protocol/dead-letter';
import type { Json } from '../../protocol/shapes';
import { validate } from '../../protocol/validation';
import type { DeadLetters } from '../dead-letters';
import { handle, identityOf, jsonBody, param } from '../http';

/** What the routes of `/v1/dead-letters` call. */
export interface DeadLetterRouteDependencies {
  deadLetters: DeadLetters;
}

/** `/v1/dead-letters/…`: list, show, redrive, discard. Mounted at the same path. */
export function deadLetterRoutes({ deadLetters }: DeadLetterRouteDependencies): Router {
  const router = Router();

  router.get(
    '/',
    handle(async (request, response) => {
      response.json(await deadLetters.list(request.query));
    }),
  );

  router.get(
    '/:id',
    handle(async (request, response) => {
      response.json(await deadLetters.show(param(request, 'id')));
    }),
  );

  router.post(
    /^\/([^/:]+):redrive$/,
    handle(async (request, response) => {
      const { by, accept_repeat, run_id } = validate(redriveRequestSchema, optionalBody(request));
      const answer = await deadLetters.redrive(param(request, '0'), {
        by: by ?? identityOf(response).principal,
        acceptRepeat: accept_repeat,
        ...(run_id !== undefined && { runId: run_id }),
      });
      response.setHeader('X-Reach-Id', answer.reach_id);
      response.status(202).location(answer.links.self).json(answer);
    }),
  );

  router.post(
    /^\/([^/:]+):discard$/,
    handle(async (request, response) => {
      const { reason, by } = validate(discardRequestSchema, jsonBody(request));
      const why = { reason, by: by ?? identityOf(response).principal };
      response.json(await deadLetters.discard(param(request, '0'), why));
    }),
  );

  return router;
}

/** `POST /v1/dead-letters:redrive`, which lies beside the folder. Mounted at `/v1`. */
export function bulkRedriveRoutes({ deadLetters }: DeadLetterRouteDependencies): Router {
  const router = Router();
  router.post(
    /^\/dead-letters:redrive$/,
    handle(async (request, response) => {
      const order = validate(bulkRedriveRequestSchema, jsonBody(request));
      response.json(await deadLetters.redriveAll(order, order.by ?? identityOf(response).principal));
    }),
  );
  return router;
}

/** Nothing at all stands for `{}`. */
function optionalBody(request: Request): Json {
  const body: unknown = request.body;
  return Buffer.isBuffer(body) && body.byteLength > 0 ? jsonBody(request) : {};
}
