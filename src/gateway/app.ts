import express, { type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { MAX_PAYLOAD_BYTES } from '../protocol/limits';
import { ReachError } from '../protocol/reach-error';
import type { ReachTokens } from '../protocol/reach-token';
import type { HttpMetrics } from '../telemetry/http-metrics';
import { authenticate } from './authentication';
import { errorHandler, sendProblem, unmatched } from './problems';
import { validHost } from './host-header';
import { knownQuery } from './known-query';
import { batchBody } from './large-context';
import type { LateResults } from './late-results';
import { loopbackOnly } from './loopback-only';
import type { Readiness } from './readiness';
import { requestLog } from './request-log';
import { agentRoutes, type AgentRouteDependencies } from './routes/agents';
import { breakerRoutes, type BreakerRouteDependencies } from './routes/breakers';
import { bulkRedriveRoutes, deadLetterRoutes, type DeadLetterRouteDependencies } from './routes/dead-letters';
import { callbackRoutes, type CallbackRouteDependencies } from './routes/callbacks';
import { contextRoutes, type ContextRouteDependencies } from './routes/contexts';
import { decisionRoutes, type DecisionRouteDependencies } from './routes/decisions';
import { deduplicationRoutes, type DeduplicationRouteDependencies } from './routes/deduplication';
import { discoveryRoutes, type DiscoveryDependencies } from './routes/discovery';
import { doctorRoutes, type DoctorRouteDependencies } from './routes/doctor';
import { topicRoutes, type EventRouteDependencies } from './routes/events';
import { lateResultRoutes, resultGate } from './routes/late-results';
import { operationsRoutes, type OperationsDependencies } from './routes/operations';
import { payloadRoutes, type PayloadRouteDependencies } from './routes/payloads';
import { reachRoutes, type ReachRouteDependencies } from './routes/reaches';
import { routingTableRoutes, type RoutingTableRouteDependencies } from './routes/routing-table';
import { scalingRoutes, type ScalingRouteDependencies } from './routes/scaling';
import { statsRoutes } from './routes/stats';
import { subscriptionRoutes, type SubscriptionRouteDependencies } from './routes/subscriptions';

/** The envelope around the largest payload needs some room of its own. */
const AROUND_BYTES = 65_536;

/** Everything the HTTP surface is made of. */
export interface AppDependencies
  extends
    ReachRouteDependencies,
    DeadLetterRouteDependencies,
    AgentRouteDependencies,
    BreakerRouteDependencies,
    CallbackRouteDependencies,
    ContextRouteDependencies,
    DecisionRouteDependencies,
    DeduplicationRouteDependencies,
    DiscoveryDependencies,
    DoctorRouteDependencies,
    EventRouteDependencies,
    PayloadRouteDependencies,
    RoutingTableRouteDependencies,
    ScalingRouteDependencies,
    SubscriptionRouteDependencies,
    OperationsDependencies {
  logger: Logger;
  /** null: no key is configured and the gateway listens on loopback only. */
  apiKey: string | null;
  tokens: Pick<ReachTokens, 'verify'>;
  httpMetrics: HttpMetrics;
  lateResults: LateResults;
  readiness: Readiness;
}

/** The gateway's Express application: authenticate → parse → call → respond. */
export function createApp(deps: AppDependencies): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  app.use(deps.httpMetrics.middleware);
  app.use(operationsRoutes(deps));
  const body = rawBody(MAX_PAYLOAD_BYTES);
  app.use('/v1', helmet(), requestLog(deps.logger), validHost);
  if (deps.apiKey === null) app.use('/v1', loopbackOnly);
  const strictQuery = knownQuery();
  app.post('/v1/reaches/:id/result', resultGate(deps.tokens), strictQuery, rawBody(deps.payloads.maxBytes));
  app.use('/v1/reaches', lateResultRoutes(deps.lateResults));
  app.use('/v1', refuseWhileDraining(deps.readiness), authenticate(deps.apiKey, deps), strictQuery);
  app.patch('/v1/contexts/:id', batchBody(deps.payloads.maxBytes));
  app.use('/v1', body);
  app.use('/v1/reaches', reachRoutes(deps));
  app.use('/v1/callbacks', callbackRoutes(deps));
  app.use('/v1/contexts', contextRoutes(deps));
  app.use('/v1/topics', topicRoutes(deps));
  app.use('/v1/subscriptions', subscriptionRoutes(deps));
  app.use('/v1/payloads', payloadRoutes(deps));
  app.use('/v1/routes', routingTableRoutes(deps));
  app.use('/v1/doctor', doctorRoutes(deps));
  app.use('/v1/dead-letters', deadLetterRoutes(deps));
  app.use('/v1', bulkRedriveRoutes(deps));
  app.use('/v1/agents', agentRoutes(deps), deduplicationRoutes(deps));
  app.use('/v1', breakerRoutes(deps), scalingRoutes(deps), statsRoutes(deps));
  app.use('/v1', decisionRoutes(deps));
  app.use('/v1', discoveryRoutes(deps));
  app.use(unmatched);
  app.use(errorHandler(deps.logger));
  return app;
}

/** Bodies as they came, up to a size. */
function rawBody(maxBytes: number): RequestHandler {
  return express.raw({ type: () => true, limit: maxBytes + AROUND_BYTES });
}

/** A draining gateway answers what it has accepted and takes nothing new; reads go on. */
function refuseWhileDraining(readiness: Readiness): RequestHandler {
  return (request, response, next) => {
    if (!readiness.draining || request.method === 'GET') return next();
    response.setHeader('Connection', 'close');
    sendProblem(
      response,
      new ReachError('engine_unavailable', 'This gateway is shutting down; try again, another one will answer', {
        retryAfterMs: 1_000,
      }),
    );
  };
}
