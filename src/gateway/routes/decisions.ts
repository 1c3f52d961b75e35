import { Router } from 'express';
import type { DecisionService } from '../decision-service';
import { handle, jsonBody, param } from '../http';

/** What the routes of `/v1/decisions` call. */
export interface DecisionRouteDependencies {
  decisions: DecisionService;
}

/** `/v1/decisions[/{id}]` and `/v1/decisions:replay` (R23). Mounted at `/v1`, as the last lies beside the folder. */
export function decisionRoutes({ decisions }: DecisionRouteDependencies): Router {
  const router = Router();

  router.get(
    '/decisions',
    handle(async (request, response) => {
      response.json(await decisions.list(request.query));
    }),
  );

  router.get(
    '/decisions/:id',
    handle(async (request, response) => {
      response.json(await decisions.get(param(request, 'id')));
    }),
  );

  router.post(
    /^\/decisions:replay$/,
    handle(async (request, response) => {
      response.json(await decisions.replay(jsonBody(request)));
    }),
  );

  return router;
}
