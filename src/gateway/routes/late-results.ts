import { Router, type RequestHandler } from 'express';
import { MAX_PAYLOAD_BYTES } from '../../protocol/limits';
import type { ReachTokens } from '../../protocol/reach-token';
import { bodyText, handle, header, jsonBody, param } from '../http';
import type { LateResults } from '../late-results';

/**
 * `POST /v1/reaches/{id}/result`: an agent's late result; `…/progress`: a sign that it still works. The reach token is all the agent needs: it came with the
 * request, and agents that are only called hold no API key.
 */
export function lateResultRoutes(lateResults: LateResults): Router {
  const router = Router();
  router.post(
    '/:id/result',
    handle(async (request, response) => {
      const id = param(request, 'id');
      const token = header(request, 'x-reach-token');
      const { text } = bodyText(request);
      if (text.byteLength > MAX_PAYLOAD_BYTES)
        await lateResults.deliverLarge(id, token, Buffer.from(text.buffer, text.byteOffset, text.byteLength));
      else await lateResults.deliver(id, token, jsonBody(request));
      response.status(202).json({ reach_id: id, accepted: true });
    }),
  );
  router.post(
    '/:id/progress',
    handle(async (request, response) => {
      const id = param(request, 'id');
      await lateResults.progress(id, header(request, 'x-reach-token'));
      response.status(202).json({ reach_id: id, accepted: true });
    }),
  );
  return router;
}

/** A large body is read only for who has shown the token of its reach. @throws ReachError `unauthorized` */
export function resultGate(tokens: Pick<ReachTokens, 'verify'>): RequestHandler {
  return (request, _response, next) => {
    tokens.verify(header(request, 'x-reach-token') ?? '', param(request, 'id')).then(() => next(), next);
  };
}
