/** `/v1/abilities` and `/v1/route`: who can do what, and who would. */
import { z } from 'zod';
import { abilitySchema, abilitySearchSchema, routeExplanationSchema } from '../agent-schemas';
import { cataloguePageQuery, MAX_CATALOGUE_PAGE } from '../catalogue-page';
import { abilityHitSchema, listSchema } from '../result';
import * as examples from './examples';
import { BODY_PROBLEMS, envelopeDocument, json, type Operation } from './operation';

/** Operations of discovery. */
export const ABILITY_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path: '/v1/abilities',
    id: 'listAbilities',
    tag: 'abilities',
    summary: 'The catalogue of abilities',
    description: 'By name; all of them unless `limit` says how many.',
    query: cataloguePageQuery.extend({ limit: z.int().min(1).max(MAX_CATALOGUE_PAGE).optional() }),
    answers: { 200: { description: 'All abilities', body: json(listSchema(abilitySchema)) } },
    problems: ['invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/abilities/{name}',
    id: 'getAbility',
    tag: 'abilities',
    summary: 'One ability and who offers it',
    params: z.object({ name: z.string().meta({ example: 'refund' }) }),
    answers: { 200: { description: 'The ability', body: json(abilitySchema) } },
    problems: ['ability_not_found'],
  },
  {
    method: 'post',
    path: '/v1/abilities:search',
    id: 'searchAbilities',
    tag: 'abilities',
    summary: 'Find abilities by meaning',
    body: json(abilitySearchSchema, { refund: { query: 'where is my money', limit: 3 } }),
    answers: { 200: { description: 'Best first', body: json(z.object({ results: z.array(abilityHitSchema) })) } },
    problems: [...BODY_PROBLEMS],
  },
  {
    method: 'post',
    path: '/v1/route',
    id: 'explainRoute',
    tag: 'abilities',
    summary: 'Who would get this envelope, and why; nothing is sent',
    body: json(envelopeDocument, examples.envelopes),
    answers: { 200: { description: 'The decision as it would be', body: json(routeExplanationSchema) } },
    problems: [...BODY_PROBLEMS],
  },
];
