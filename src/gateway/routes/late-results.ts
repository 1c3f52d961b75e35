import { Router } from 'express';
import { assertSize, handle, header, jsonBody, param } from '../http';
import type { LateResults } from '../late-results';

/**
 * `POST /v1/reaches/{id}/result`: an agent's late result. The reach token is all the agent needs: it came with the
 * request, and agents that are only called hold no API key.
 */
export function lateResultRoutes(lateResults: LateResults): Router {
  const router = Router();
  router.post(
    '/:id/result',
    handle(async (request, response) => {
      const id = param(request, 'id');
      const body = jsonBody(request);
      assertSize(request, body, '/output');
      await lateResults.deliver(id, header(request, 'x-reach-token'), body);
      response.status(202).json({ reach_id: id, accepted: true });
    }),
  );
  return router;
}
