import { Router } from 'express';
import { z } from 'zod';
import { parseDescriptor } from '../../protocol/descriptor-loader';
import { ReachError } from '../../protocol/reach-error';
import { heartbeatSchema, instanceRegistrationSchema } from '../../protocol/registration';
import { validate } from '../../protocol/validation';
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

const noFlags = z.strictObject({});

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
    handle((_request, response) => {
      response.json({ items: catalogue.agents() });
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
      // Whoever asks for less, such as one version, must not lose everything.
      validate(noFlags, request.query, { what: 'the query' });
      const name = param(request, 'name');
      if (!(await registrar.remove(name))) throw catalogue.unknownAgent(name);
      response.status(204).end();
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
