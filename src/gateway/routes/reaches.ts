import { Router } from 'express';
import { MAX_PAYLOAD_BYTES } from '../../protocol/limits';
import { ReachError } from '../../protocol/reach-error';
import { parseEnvelope } from '../../protocol/validation';
import { handle, header, identityOf, jsonBody, param, preferredWaitMs, queryWaitMs } from '../http';
import type { ReachLister } from '../reach-list';
import type { ReachReader } from '../reach-reader';
import type { ReachService } from '../reach-service';
import type { LateResults } from '../late-results';
import type { TraceReader } from '../trace-reader';
import { traceIdOf } from '../trace-context';

/** What the routes of `/v1/reaches` call. */
export interface ReachRouteDependencies {
  service: ReachService;
  reader: ReachReader;
  lister: ReachLister;
  lateResults: LateResults;
  traces: TraceReader;
}

/** `/v1/reaches`: send, read, list, cancel, trace, and the agent's late result. */
export function reachRoutes(deps: ReachRouteDependencies): Router {
  const router = Router();

  router.post(
    '/',
    handle(async (request, response) => {
      const input = parseEnvelope(jsonBody(request), {
        idempotencyKey: header(request, 'idempotency-key'),
        timeoutMs: header(request, 'x-reach-timeout-ms'),
      });
      assertSize(request.body as Buffer, input.payload);
      const timeoutMs = input.timeout_ms ?? Number.POSITIVE_INFINITY;
      const answer = await deps.service.accept({
        input,
        principal: identityOf(response).principal,
        waitMs: preferredWaitMs(request, timeoutMs, input.mode),
        traceId: traceIdOf(header(request, 'traceparent')),
      });
      response.status(answer.httpStatus).setHeader('X-Reach-Id', answer.reachId);
      if (answer.httpStatus === 202) response.location(`/v1/reaches/${answer.reachId}`);
      response.json(answer.body);
    }),
  );

  router.get(
    '/',
    handle(async (request, response) => {
      response.json(await deps.lister.list(request.query));
    }),
  );

  router.get(
    '/:id',
    handle(async (request, response) => {
      response.json(await deps.reader.view(param(request, 'id'), queryWaitMs(request)));
    }),
  );

  router.get(
    '/:id/trace',
    handle(async (request, response) => {
      response.json(await deps.traces.trace(param(request, 'id')));
    }),
  );

  router.post(
    '/:id/result',
    handle(async (request, response) => {
      const id = param(request, 'id');
      await deps.lateResults.deliver(id, header(request, 'x-reach-token'), jsonBody(request));
      response.status(202).json({ reach_id: id, accepted: true });
    }),
  );

  router.post(
    /^\/([^/:]+):cancel$/,
    handle(async (request, response) => {
      const id = param(request, '0');
      await deps.reader.cancel(id);
      response.status(202).json({ reach_id: id, status: 'running', cancelling: true });
    }),
  );

  return router;
}

/** The payload counts, not the envelope around it; only a body over the limit can hold one that is. */
function assertSize(body: Buffer, payload: unknown): void {
  if (body.length <= MAX_PAYLOAD_BYTES) return;
  const bytes = Buffer.byteLength(JSON.stringify(payload));
  if (bytes > MAX_PAYLOAD_BYTES) {
    throw new ReachError('payload_too_large', `The payload has ${bytes} bytes, the limit is ${MAX_PAYLOAD_BYTES}`, {
      errors: [{ pointer: '/payload', message: `must not be over ${MAX_PAYLOAD_BYTES} bytes` }],
    });
  }
}
