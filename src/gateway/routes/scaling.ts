import { Router } from 'express';
import { agentQuerySchema } from '../../protocol/scaling';
import { validate } from '../../protocol/validation';
import type { AgentCatalogue } from '../agent-catalogue';
import { handle } from '../http';
import type { Scaling } from '../scaling';

/** What the routes of scaling hints and statistics call. */
export interface ScalingRouteDependencies {
  scaling: Scaling;
  catalogue: AgentCatalogue;
}

/** `/v1/scaling-hints` (R35), to be mounted at `/v1`. */
export function scalingRoutes({ scaling, catalogue }: ScalingRouteDependencies): Router {
  const router = Router();

  router.get(
    '/scaling-hints',
    handle((request, response) => {
      const { agent } = validate(agentQuerySchema, request.query, { what: 'the query' });
      const items = scaling.hints(agent);
      if (agent !== undefined && items.length === 0) throw catalogue.unknownAgent(agent);
      response.json({ items });
    }),
  );

  return router;
}
