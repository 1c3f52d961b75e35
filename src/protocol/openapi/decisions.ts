/** `/v1/decisions`: what routing decided, and what it would have decided otherwise (R23). */
import { z } from 'zod';
import { decisionQuerySchema, loggedDecisionSchema, replayReportSchema, replayRequestSchema } from '../decision-log';
import { listSchema } from '../result';
import { BODY_PROBLEMS, json, type Operation } from './operation';

/** Operations on the decision log. */
export const DECISION_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path: '/v1/decisions',
    id: 'listDecisions',
    tag: 'abilities',
    summary: 'Routing decisions, newest first',
    description:
      'Refused requests too. Decisions of the gateway that is asked are there at once, those of other processes within about two seconds. A page may hold fewer than `limit`: go on while there is a `next_cursor`.',
    query: decisionQuerySchema,
    answers: { 200: { description: 'A page', body: json(listSchema(loggedDecisionSchema)) } },
    problems: ['invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/decisions/{id}',
    id: 'getDecision',
    tag: 'abilities',
    summary: 'One decision with every factor of every candidate',
    params: z.object({ id: z.string().meta({ description: 'decision_id of a receipt, a result or an error.' }) }),
    answers: { 200: { description: 'The decision', body: json(loggedDecisionSchema) } },
    problems: ['not_found'],
  },
  {
    method: 'post',
    path: '/v1/decisions:replay',
    id: 'replayDecisions',
    tag: 'abilities',
    summary: 'What would have been decided under other circumstances',
    description:
      'Decides logged decisions again with what is changed, and reports the difference. Nothing is sent to anybody. The newest decisions that fit, as many as `max_decisions` and 25 s allow; `cut` says when there were more. One replay at a time at each gateway.',
    body: json(replayRequestSchema, {
      weights: { changes: { weights: { semantic_similarity: 0.4, latency_score: 0.4 } } },
      canary: {
        filter: { ability: 'refund_progress', since: '2026-05-04T08:00:00Z' },
        changes: {
          routes: [
            { ability: 'refund_progress', from: 'default', to: 'refund_agent#1.2.0', weight: 50 },
            { ability: 'refund_progress', from: 'default', to: 'refund_agent#2.0.0', weight: 50 },
          ],
        },
      },
      outage: { changes: { breakers: { states: [{ agent: 'refund_agent', state: 'open' }] } } },
    }),
    answers: { 200: { description: 'The report', body: json(replayReportSchema) } },
    problems: [...BODY_PROBLEMS, 'weights_invalid', 'rate_limited'],
  },
];
