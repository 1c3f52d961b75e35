import { createSession } from 'better-sse';
import { Router } from 'express';
import type { Payloads } from '../../payloads';
import { isEventEnvelope } from '../../protocol/event-envelope';
import { callerLeft } from '../caller-left';
import { sendResult } from '../large-output';
import { parseEnvelope } from '../../protocol/validation';
import { assertSize, handle, header, identityOf, jsonBody, param, preferredWaitMs, queryWaitMs } from '../http';
import { assertWithin, onlyOwn } from '../own-reaches';
import type { Backpressure } from '../backpressure';
import type { EventFeed } from '../event-feed';
import { sendProblem } from '../problems';
import type { ReachLister } from '../reach-list';
import type { Nesting } from '../nesting';
import type { ReachReader } from '../reach-reader';
import type { ReachService } from '../reach-service';
import type { TraceReader } from '../trace-reader';
import { traceIdOf } from '../trace-context';
import { publishEnvelope, type EventRouteDependencies } from './events';

/** What the routes of `/v1/reaches` call. */
export interface ReachRouteDependencies extends EventRouteDependencies {
  service: ReachService;
  backpressure: Pick<Backpressure, 'admit'>;
  nesting: Pick<Nesting, 'parentOf' | 'confirm'>;
  reader: ReachReader;
  lister: ReachLister;
  traces: TraceReader;
  payloads: Payloads;
  events: EventFeed;
}

/** `/v1/reaches`: send, read, list, trace, follow, cancel. */
export function reachRoutes(deps: ReachRouteDependencies): Router {
  const router = Router();

  router.post(
    '/',
    handle(async (request, response) => {
      const body = jsonBody(request);
      if (isEventEnvelope(body)) return publishEnvelope(deps, body, { request, response });
      const input = parseEnvelope(body, {
        idempotencyKey: header(request, 'idempotency-key'),
        timeoutMs: header(request, 'x-reach-timeout-ms'),
      });
      assertWithin(identityOf(response), input);
      if (input.payload) assertSize(request, input.payload, '/payload');
      const parent = await deps.nesting.parentOf({
        token: header(request, 'x-reach-token'),
        parent: header(request, 'x-reach-parent'),
        deadlineMs: header(request, 'x-reach-deadline-ms'),
      });
      const timeoutMs = input.timeout_ms ?? Number.POSITIVE_INFINITY;
      const call = {
        input,
        principal: identityOf(response).principal,
        waitMs: preferredWaitMs(request, timeoutMs, input.mode),
        left: callerLeft(response),
        traceId: parent?.inheritance.trace_id ?? traceIdOf(header(request, 'traceparent')),
        parent,
        bodyBytes: Buffer.isBuffer(request.body) ? request.body.byteLength : undefined,
      };
      const answer = await deps.backpressure.admit(input.mode === 'async' ? 'async' : 'sync', () =>
        deps.service.accept(call),
      );
      response.setHeader('X-Reach-Id', answer.reachId);
      if (answer.kind === 'problem') return sendProblem(response, answer.error, { replayed: true });
      if (answer.kind === 'receipt') response.location(`/v1/reaches/${answer.reachId}`);
      await sendResult(response.status(answer.kind === 'receipt' ? 202 : 200), answer.body, deps.payloads);
    }),
  );

  router.get(
    '/',
    handle(async (request, response) => {
      response.json(await deps.lister.list(request.query));
    }),
  );

  // Whoever holds nothing but a reach token sees what it has started, and nothing else.
  const own = onlyOwn(deps.reader);

  router.get(
    '/:id',
    own,
    handle(async (request, response) => {
      const view = await deps.reader.view(param(request, 'id'), queryWaitMs(request), callerLeft(response));
      await sendResult(response, view, deps.payloads);
    }),
  );

  router.get(
    '/:id/trace',
    own,
    handle(async (request, response) => {
      response.json(await deps.traces.trace(param(request, 'id')));
    }),
  );

  router.get(
    '/:id/events',
    own,
    handle(async (request, response) => {
      const left = callerLeft(response);
      // What can be refused is refused before the stream begins, as a problem document.
      const feed = await deps.events.follow(param(request, 'id'), header(request, 'last-event-id') ?? '', left);
      if (left.aborted) return;
      const session = await createSession(request, response, { trustClientEventId: false });
      for await (const { data, event, id } of feed) session.push(data, event, id);
      response.end();
    }),
  );

  router.post(
    /^\/([^/:]+):cancel$/,
    onlyOwn(deps.reader, { childrenOnly: true }),
    handle(async (request, response) => {
      const id = param(request, '0');
      await deps.reader.cancel(id);
      response.status(202).json({ reach_id: id, status: 'running', cancelling: true });
    }),
  );

  return router;
}
