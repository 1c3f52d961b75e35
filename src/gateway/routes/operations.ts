import { Router } from 'express';
import swaggerUi from 'swagger-ui-express';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { Readiness } from '../readiness';
import { handle } from '../http';

/** What the routes for operators call. */
export interface OperationsDependencies {
  readiness: Readiness;
  metrics: MetricsRegistry;
  openApi: object;
}

/** `/healthz`, `/readyz`, `/metrics`, `/openapi.json` and `/docs`. */
export function operationsRoutes({ readiness, metrics, openApi }: OperationsDependencies): Router {
  const router = Router();

  router.get(
    '/healthz',
    handle((_request, response) => {
      response.json({ status: 'ok' });
    }),
  );

  router.get(
    '/readyz',
    handle(async (_request, response) => {
      const report = await readiness.report();
      response.status(report.ready ? 200 : 503).json(report);
    }),
  );

  router.get(
    '/metrics',
    handle(async (_request, response) => {
      response.type(metrics.contentType).send(await metrics.metrics());
    }),
  );

  router.get(
    '/openapi.json',
    handle((_request, response) => {
      response.json(openApi);
    }),
  );
  router.use(
    '/docs',
    swaggerUi.serve,
    swaggerUi.setup(null, { swaggerOptions: { url: '/openapi.json' }, customSiteTitle: 'Agent-Reach API' }),
  );

  return router;
}
