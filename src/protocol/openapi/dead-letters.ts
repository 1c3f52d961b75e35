/** `/v1/dead-letters`: what could not be delivered. */
import { z } from 'zod';
import {
  bulkRedriveRequestSchema,
  bulkRedriveResultSchema,
  DEAD_LETTER_STATES,
  deadLetterFilterSchema,
  deadLetterItemSchema,
  deadLetterSchema,
  discardReceiptSchema,
  discardRequestSchema,
  redriveReceiptSchema,
  redriveRequestSchema,
} from '../dead-letter';
import { listSchema } from '../result';
import { BODY_PROBLEMS, json, type Operation } from './operation';

const params = z.object({
  id: z.string().meta({ description: 'reach_id', example: 'r-k5x2m7qyzv3c4b6n7a2s4d5f6g7h2j3k' }),
});

/** Operations on dead letters. */
export const DEAD_LETTER_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path: '/v1/dead-letters',
    id: 'listDeadLetters',
    tag: 'reaches',
    summary: 'List dead letters',
    description:
      'Newest first, each reach once, without the envelope. New ones show up within about a second; a reach that was recovered is never listed as open. A page may hold fewer than `limit`: go on while there is a `next_cursor`.',
    query: z.object({
      state: z.enum(DEAD_LETTER_STATES).default('open'),
      ...deadLetterFilterSchema.shape,
      cursor: z.string().optional(),
      limit: z.int().min(1).max(200).default(50),
    }),
    answers: {
      200: {
        description: 'A page',
        body: json(listSchema(deadLetterItemSchema).extend({ consistency: z.literal('eventual') })),
      },
    },
    problems: ['invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/dead-letters/{id}',
    id: 'getDeadLetter',
    tag: 'reaches',
    summary: 'The whole story of a dead letter',
    description:
      'Payload, attempts, error, decision, redrives. 404 for reaches that are no dead letters, saying what they are.',
    params,
    answers: { 200: { description: 'The story', body: json(deadLetterSchema) } },
    problems: ['not_found'],
  },
  {
    method: 'post',
    path: '/v1/dead-letters/{id}:redrive',
    id: 'redriveDeadLetter',
    tag: 'reaches',
    summary: 'Run a dead letter again',
    description:
      'From the beginning, under the same id, with a fresh budget. Once, however often and at whichever gateway it is asked for: repeats answer the same run with `replayed: true`. The body may be absent.',
    params,
    body: json(redriveRequestSchema, { plain: {}, atMostOnce: { accept_repeat: true, by: 'ops@example.com' } }),
    answers: {
      202: {
        description: 'The new run is under way',
        body: json(redriveReceiptSchema),
        headers: { Location: 'Where the outcome will be.' },
      },
    },
    problems: [...BODY_PROBLEMS, 'not_found', 'reach_terminal'],
  },
  {
    method: 'post',
    path: '/v1/dead-letters:redrive',
    id: 'redriveDeadLetters',
    tag: 'reaches',
    summary: 'Run many dead letters again',
    description: 'Newest first, up to `limit`, each once. `{"filter":{}}` means all.',
    body: json(bulkRedriveRequestSchema, {
      ofOneAgent: { filter: { agent: 'refund_agent', code: 'agent_unavailable' }, limit: 500 },
      all: { filter: {}, dry_run: true },
    }),
    answers: { 200: { description: 'What was done with each', body: json(bulkRedriveResultSchema) } },
    problems: BODY_PROBLEMS,
  },
  {
    method: 'post',
    path: '/v1/dead-letters/{id}:discard',
    id: 'discardDeadLetter',
    tag: 'reaches',
    summary: 'Decide against a dead letter',
    description:
      'It leaves the open ones and cannot be redriven any more; its story stays as long as retention lets it.',
    params,
    body: json(discardRequestSchema, { why: { reason: 'the order was cancelled by phone' } }),
    answers: { 200: { description: 'Discarded, now or before', body: json(discardReceiptSchema) } },
    problems: [...BODY_PROBLEMS, 'not_found', 'reach_terminal'],
  },
];
