import { Router } from 'express';
import { handle, jsonBody } from '../http';
import { conflictOf, isKnown, PRECONDITION_TITLE, preconditionsOf } from '../preconditions';
import { sendProblem } from '../problems';
import type { RoutingTable } from '../routing-table';

/** What the routes of the route table call. */
export interface RoutingTableRouteDependencies {
  routingTable: RoutingTable;
}

/** `/v1/routes`: how the versions of agents share their calls (R21); to be mounted at `/v1/routes`. */
export function routingTableRoutes({ routingTable }: RoutingTableRouteDependencies): Router {
  const router = Router();

  router.get(
    '/',
    handle(async (request, response) => {
      const { entries, etag } = await routingTable.read();
      response.setHeader('ETag', etag);
      response.setHeader('Cache-Control', 'no-cache');
      if (isKnown(preconditionsOf(request), etag)) return void response.status(304).end();
      response.json({ routes: entries });
    }),
  );

  router.put(
    '/',
    handle(async (request, response) => {
      const preconditions = preconditionsOf(request);
      try {
        const { etag, ...written } = await routingTable.replace(jsonBody(request), preconditions);
        response.setHeader('ETag', etag).json(written);
      } catch (caught) {
        const conflict = conflictOf(caught);
        if (conflict === null) throw caught;
        // RFC 9110 § 15.5.13, whatever the table of codes says of other conflicts.
        response.setHeader('ETag', conflict.etag);
        sendProblem(response, conflict.error, { status: 412, title: PRECONDITION_TITLE });
      }
    }),
  );

  return router;
}
