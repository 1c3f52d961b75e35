import { Router } from 'express';
import {
  deduplicationBeginSchema,
  deduplicationCompleteSchema,
  type DeduplicationBegin,
  type DeduplicationBeginAnswer,
  type DeduplicationComplete,
  type DeduplicationCompleteAnswer,
} from '../../protocol/deduplication';
import { validate } from '../../protocol/validation';
import { handle, jsonBody, param } from '../http';

/** What the routes call: the registry's `PlatformDeduplication`. */
export interface DeduplicationRouteDependencies {
  deduplication: {
    begin(agentName: string, request: DeduplicationBegin): Promise<DeduplicationBeginAnswer>;
    complete(agentName: string, request: DeduplicationComplete): Promise<DeduplicationCompleteAnswer>;
  };
}

/** `/v1/agents/{name}/deduplication:begin` and `:complete`; to be mounted at `/v1/agents`. */
export function deduplicationRoutes({ deduplication }: DeduplicationRouteDependencies): Router {
  const router = Router();

  router.post(
    '/:name/deduplication\\:begin',
    handle(async (request, response) => {
      const { ttl_ms: ttlMs, ...rest } = validate(deduplicationBeginSchema, jsonBody(request));
      response.json(await deduplication.begin(param(request, 'name'), { ...rest, ttlMs }));
    }),
  );

  router.post(
    '/:name/deduplication\\:complete',
    handle(async (request, response) => {
      const { ttl_ms: ttlMs, ...rest } = validate(deduplicationCompleteSchema, jsonBody(request));
      response.json(await deduplication.complete(param(request, 'name'), { ...rest, ttlMs }));
    }),
  );

  return router;
}
