import { Router } from 'express';
import { z } from 'zod';
import { cataloguePageQuery } from '../../protocol/catalogue-page';
import { parseDescriptor } from '../../protocol/descriptor-loader';
import { ReachError } from '../../protocol/reach-error';
import { heartbeatSchema, instanceRegistrationSchema } from '../../protocol/registration';
import { validate } from '../../protocol/validation';
import { agentRemovalQuery } from '../../protocol/version-removal';
import type { AgentCatalogue } from '../agent-catalogue';
import type { AgentRegistrar } from '../agent-registrar';
import { bodyText, handle, jsonBody, param } from '../http';

/** What the routes of `/v1/agents` call. */
export interface AgentRouteDependencies {
  registrar: AgentRegistrar;
  catalogue: AgentCatalogue;
}

const flags = z.strictObject({
  dry_run: z.enum(['true', 'false']).optional(),
  replace: z.enum(['true', 'false']).optional(),
});

/** `/v1/agents`: descriptors, instances and their heartbeats. */
export function agentRoutes({ registrar, catalogue }: AgentRouteDependencies): Router {
  const router = Router();

  router.post(
    '/',
    handle(async (request, response) => {
      const query = validate(flags, request.query, { what: 'the query' });
      const { text, format } = bodyText(request, ['json', 'yaml']);
      const { descriptor, warnings } = parseDescriptor(text, format);
      const options = { dryRun: query.dry_run === 'true', replace: query.replace === 'true' };
      const answer = await registrar.register(descriptor, options);
      response.status(answer.outcome === 'created' && !options.dryRun ? 201 : 200);
      response.location(`/v1/agents/${descriptor.name}`);
      response.json({
        name: descriptor.name,
        version: descriptor.version,
        outcome: answer.outcome,
        dry_run: options.dryRun,
        registered_at: answer.registeredAt,
        warnings: [...warnings, ...answer.warnings],
      });
    }),
  );

  router.get(
    '/',
    handle((request, response) => {
      const page = validate(cataloguePageQuery, request.query, { what: 'the query' });
      response.json(catalogue.agentsPage(page));
    }),
  );

  router.get(
    '/:name',
    handle((request, response) => {
      response.json(catalogue.agent(param(request, 'name')));
    }),
  );

  router.delete(
    '/:name',
    handle(async (request, response) => {
      const { version } = validate(agentRemovalQuery, request.query, { what: 'the query' });
      const name = param(request, 'name');
      if (version === undefined) {
        if (!(await registrar.remove(name))) throw catalogue.unknownAgent(name);
        return void response.status(204).end();
      }
      const removed = await registrar.removeVersion(name, version);
      if (removed === null) throw catalogue.unknownAgent(name);
      response.json(removed);
    }),
  );

  router.put(
    '/:name/instances/:instance',
    handle(async (request, response) => {
      const body = validate(instanceRegistrationSchema, jsonBody(request));
      response.json(await registrar.registerInstance(param(request, 'name'), param(request, 'instance'), body));
    }),
  );

  router.post(
    '/:name/instances/:instance/heartbeat',
    handle(async (request, response) => {
      const body = validate(heartbeatSchema, jsonBody(request));
      response.json(await registrar.heartbeat(param(request, 'name'), param(request, 'instance'), body));
    }),
  );

  router.delete(
    '/:name/instances/:instance',
    handle(async (request, response) => {
      const { epoch } = request.query;
      if (typeof epoch !== 'string') {
        throw new ReachError('invalid_request', 'Name the epoch of the registration to end: ?epoch=…', {
          errors: [
            { pointer: '/epoch', message: 'is missing', fix: 'use the epoch that registering the instance answered' },
          ],
        });
      }
      await registrar.deregister(param(request, 'name'), param(request, 'instance'), epoch);
      response.status(204).end();
    }),
  );

  return router;
}
