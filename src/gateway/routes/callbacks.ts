import { Router } from 'express';
import type { Callbacks } from '../callbacks';
import { handle, identityOf, param } from '../http';

/** What the routes of `/v1/callbacks` call. */
export interface CallbackRouteDependencies {
  callbacks: Callbacks;
}

/** `/v1/callbacks/…`: how they stand, redrive, and the secret. Mounted at the same path. */
export function callbackRoutes({ callbacks }: CallbackRouteDependencies): Router {
  const router = Router();

  router.get(
    '/',
    handle(async (request, response) => {
      response.json(await callbacks.list(request.query));
    }),
  );

  router.get(
    '/secret',
    handle((_request, response) => {
      identityOf(response);
      response.setHeader('Cache-Control', 'no-store');
      response.json(callbacks.secret());
    }),
  );

  router.get(
    '/:id',
    handle(async (request, response) => {
      response.json(await callbacks.show(param(request, 'id')));
    }),
  );

  router.post(
    /^\/([^/:]+):redrive$/,
    handle(async (request, response) => {
      const answer = await callbacks.redrive(param(request, '0'));
      response.status(202).location(`/v1/callbacks/${answer.id}`).json(answer);
    }),
  );

  return router;
}
