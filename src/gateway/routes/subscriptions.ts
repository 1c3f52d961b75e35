import { Router } from 'express';
import { subscriptionBodySchema, subscriptionQuerySchema } from '../../protocol/subscription';
import { validate } from '../../protocol/validation';
import { handle, jsonBody, param } from '../http';
import type { SubscriptionService } from '../subscription-service';

/** What the routes of subscriptions call. */
export interface SubscriptionRouteDependencies {
  subscriptions: SubscriptionService;
}

/** `/v1/subscriptions`: who gets the events of which topics (R3). */
export function subscriptionRoutes({ subscriptions }: SubscriptionRouteDependencies): Router {
  const router = Router();

  router.get(
    '/',
    handle((request, response) => {
      response.json(subscriptions.list(validate(subscriptionQuerySchema, request.query, { what: 'the query' })));
    }),
  );

  router.get(
    '/:id',
    handle(async (request, response) => {
      response.json(await subscriptions.get(param(request, 'id')));
    }),
  );

  router.put(
    '/:id',
    handle(async (request, response) => {
      const id = param(request, 'id');
      const { outcome, subscription } = await subscriptions.put(
        id,
        validate(subscriptionBodySchema, jsonBody(request)),
      );
      if (outcome === 'created') response.location(`/v1/subscriptions/${id}`);
      response.status(outcome === 'created' ? 201 : 200).json(subscription);
    }),
  );

  router.delete(
    '/:id',
    handle(async (request, response) => {
      await subscriptions.delete(param(request, 'id'));
      response.status(204).end();
    }),
  );

  return router;
}
