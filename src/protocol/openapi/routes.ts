/** `/v1/routes`: how the versions of agents share their calls. */
import { z } from 'zod';
import { problemSchema } from '../result';
import { routeTableSchema, routeTableWrittenSchema } from '../route-table-schema';
import { BODY_PROBLEMS, json, type Operation } from './operation';

const path = '/v1/routes';
const canary = {
  routes: [
    { ability: 'refund', from: 'default', to: 'refund_agent#1.2.0', weight: 95 },
    { ability: 'refund', from: 'default', to: 'refund_agent#1.3.0', weight: 5 },
    { ability: 'refund', from: 'beta', to: 'refund_agent#1.3.0', weight: 1 },
  ],
};
const etag = { ETag: 'Identity of the table; send it as If-Match when you write it back' };

/** Operations on the route table (R21). */
export const ROUTE_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path,
    id: 'getRoutes',
    tag: 'abilities',
    summary: 'Read the route table',
    description: 'As it is now, not as this gateway last saw it. With If-None-Match, 304 when it has not changed.',
    headers: z.object({ 'if-none-match': z.string().optional() }),
    answers: {
      200: { description: 'The whole table', body: json(routeTableSchema, { canary }), headers: etag },
      304: { description: 'It has not changed', body: null },
    },
    problems: ['invalid_request'],
  },
  {
    method: 'put',
    path,
    id: 'putRoutes',
    tag: 'abilities',
    summary: 'Replace the route table',
    description:
      'The whole table at once. Score picks an agent; its routes for the ability and the caller group pick the version, in proportion to their weights. Weights are relative; 0 means none, ever. Answers 412 with the code context_conflict and the ETag there is, when If-Match or If-None-Match does not hold.',
    headers: z.object({
      'if-match': z.string().optional().meta({ description: 'Write only if the table still has this ETag.' }),
      'if-none-match': z.string().optional().meta({ description: '`*`: write only if nobody ever has.' }),
    }),
    body: json(routeTableSchema, { canary }),
    answers: {
      200: {
        description: 'It is written, and this gateway routes by it',
        body: json(routeTableWrittenSchema, { canary: { ...canary, warnings: [] } }),
        headers: etag,
      },
      412: {
        description:
          '`context_conflict`: the condition does not hold, so nothing was written; read the table, merge, and write that with its ETag',
        body: { schema: problemSchema, mediaTypes: ['application/problem+json'] },
        headers: { ETag: 'Of the table there is' },
      },
    },
    problems: [...BODY_PROBLEMS, 'weights_invalid'],
  },
];
