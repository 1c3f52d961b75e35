import { Router, type Request } from 'express';
import { breakerListQuery, breakerOverrideSchema, breakerReleaseQuery } from '../../protocol/breaker-override';
import { validate } from '../../protocol/validation';
import type { BreakerScope, BreakerService } from '../breaker-service';
import { handle, identityOf, jsonBody, param } from '../http';

/** What the routes of circuit breakers call. */
export interface BreakerRouteDependencies {
  breakerService: BreakerService;
}

const ONE = '/agents/:name/abilities/:ability/breaker';

/** `/v1/breakers` and `/v1/agents/{name}/abilities/{ability}/breaker`, to be mounted at `/v1` (R28). */
export function breakerRoutes({ breakerService }: BreakerRouteDependencies): Router {
  const router = Router();

  router.get(
    '/breakers',
    handle((request, response) => {
      const { all } = validate(breakerListQuery, request.query, { what: 'the query' });
      response.json({ items: breakerService.list(all === 'true') });
    }),
  );

  router.put(
    ONE,
    handle(async (request, response) => {
      const body = validate(breakerOverrideSchema, jsonBody(request));
      const { principal } = identityOf(response);
      response.json({ items: await breakerService.hold(scopeOf(request, body.version), body, principal) });
    }),
  );

  router.delete(
    ONE,
    handle(async (request, response) => {
      const { version } = validate(breakerReleaseQuery, request.query, { what: 'the query' });
      response.json({ items: await breakerService.release(scopeOf(request, version)) });
    }),
  );

  return router;
}

function scopeOf(request: Request, version: string | undefined): BreakerScope {
  return { agentName: param(request, 'name'), ability: param(request, 'ability'), version };
}
