import { Router } from 'express';
import type { Payloads } from '../../payloads';
import { abilitySearchSchema } from '../../protocol/agent-schemas';
import { cataloguePage, cataloguePageQuery } from '../../protocol/catalogue-page';
import { MAX_SEARCH_BYTES } from '../../protocol/limits';
import { ReachError } from '../../protocol/reach-error';
import { completeEnvelope, parseEnvelope, validate } from '../../protocol/validation';
import type { Router as AgentRouter } from '../../routing';
import type { AgentCatalogue } from '../agent-catalogue';
import { handle, identityOf, jsonBody, param } from '../http';
import { routeRequest } from '../reach-routing';

/** What the routes of discovery call. */
export interface DiscoveryDependencies {
  catalogue: AgentCatalogue;
  router: Pick<AgentRouter, 'explain' | 'searchAbilities'>;
  payloads: Payloads;
}

/** `/v1/abilities` (the catalogue and the search by meaning) and `/v1/route` (who would get an envelope, and why). */
export function discoveryRoutes({ catalogue, router: agents, payloads }: DiscoveryDependencies): Router {
  const router = Router();

  router.get(
    '/abilities',
    handle((request, response) => {
      const page = validate(cataloguePageQuery, request.query, { what: 'the query' });
      response.json(cataloguePage(catalogue.abilities(), page));
    }),
  );

  router.get(
    '/abilities/:name',
    handle((request, response) => {
      response.json(catalogue.ability(param(request, 'name')));
    }),
  );

  router.post(
    '/abilities\\:search',
    handle(async (request, response) => {
      const { query, limit } = validate(abilitySearchSchema, jsonBody(request));
      if (Buffer.byteLength(query) > MAX_SEARCH_BYTES) {
        throw new ReachError(
          'payload_too_large',
          `The query has over ${MAX_SEARCH_BYTES} bytes; search for the gist of it`,
        );
      }
      response.json({ results: await agents.searchAbilities(query, limit) });
    }),
  );

  router.post(
    '/route',
    handle(async (request, response) => {
      const sent = parseEnvelope(jsonBody(request));
      const { payload_ref: ref } = sent;
      const input = ref === undefined ? sent : { ...sent, payload: (await payloads.open(ref)).payload };
      const envelope = completeEnvelope(input, {
        principal: identityOf(response).principal,
        newMessageId: () => 'dry-run',
      });
      response.json(await agents.explain(routeRequest(envelope)));
    }),
  );

  return router;
}
