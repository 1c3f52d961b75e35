/** `/v1/callbacks`: who was told of the end of a reach; and what is posted to receivers, as a webhook of the document. */
import { z } from 'zod';
import {
  callbackEventSchema,
  callbackSecretSchema,
  deliveryQuerySchema,
  deliveryRedriveSchema,
  deliverySchema,
} from '../callback';
import { DELIVERY_STATES } from '../callback-target';
import { listSchema } from '../result';
import * as examples from './examples';
import { json, type Operation } from './operation';

const params = z.object({
  id: z.string().meta({
    description: 'The callback, as its `webhook-id` has it.',
    example: 'cb-k5x2m7qyzv3c4b6n7a2s4d5f6g7h2j3k-01890a5d-ac96-774b-bcce-b302099a8057',
  }),
});

/** Operations on callbacks. */
export const CALLBACK_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path: '/v1/callbacks',
    id: 'listCallbacks',
    tag: 'reaches',
    summary: 'List callbacks and replies',
    description:
      'Newest first. New ones show up within about a second. A page may hold fewer than `limit`: go on while there is a `next_cursor`.',
    query: z.object({
      state: z.enum(DELIVERY_STATES).optional(),
      reach_id: deliveryQuerySchema.shape.reach_id,
      cursor: z.string().optional(),
      limit: z.int().min(1).max(200).default(50),
    }),
    answers: {
      200: {
        description: 'A page',
        body: json(listSchema(deliverySchema).extend({ consistency: z.literal('eventual') })),
      },
    },
    problems: ['invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/callbacks/{id}',
    id: 'getCallback',
    tag: 'reaches',
    summary: 'How a callback stands',
    params,
    answers: { 200: { description: 'State, attempts and the last error', body: json(deliverySchema) } },
    problems: ['not_found'],
  },
  {
    method: 'post',
    path: '/v1/callbacks/{id}:redrive',
    id: 'redriveCallback',
    tag: 'reaches',
    summary: 'Tell once more what failed',
    description:
      'On a fresh schedule, under the same id and `webhook-id`. What is under way or was delivered is left alone: `replayed: true`.',
    params,
    answers: {
      202: {
        description: 'On its way',
        body: json(deliveryRedriveSchema),
        headers: { Location: 'Where its state is.' },
      },
    },
    problems: ['not_found'],
  },
  {
    method: 'get',
    path: '/v1/callbacks/secret',
    id: 'getCallbackSecret',
    tag: 'reaches',
    summary: 'What callbacks are signed with',
    description: 'Only a secret that the platform made itself; one that the operator has configured is not told.',
    answers: { 200: { description: 'The secret, or where it comes from', body: json(callbackSecretSchema) } },
    problems: [],
  },
];

/** What the platform posts to `callback.url` when a reach has ended. */
export const CALLBACK_WEBHOOK = {
  name: 'reachEnded',
  summary: 'A reach has ended',
  description:
    'Signed per Standard Webhooks. Any 2xx takes it; 410 ends it; anything else is tried again, with the same `webhook-id`.',
  headers: z.object({
    'webhook-id': z.string().meta({ description: 'The same for every attempt.' }),
    'webhook-timestamp': z.string().meta({ description: 'Unix seconds of this attempt.' }),
    'webhook-signature': z
      .string()
      .meta({ description: '`v1,` and base64; one for each secret, separated by a space.' }),
  }),
  body: json(callbackEventSchema, {
    completed: { type: 'reach.completed', timestamp: '2026-05-04T08:30:00.000Z', data: examples.result },
  }),
};
