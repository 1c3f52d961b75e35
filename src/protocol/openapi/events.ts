/** `/v1/topics` and `/v1/subscriptions`: events for everybody who listens. */
import { z } from 'zod';
import { ATTRIBUTE_NAME } from '../event-filter';
import { jsonValueSchema } from '../envelope';
import { listSchema } from '../result';
import { subscriptionBodySchema, subscriptionQuerySchema, subscriptionSchema } from '../subscription';
import { topicSchema } from '../topics';
import { BODY_PROBLEMS, json, type Body, type Operation } from './operation';

const params = z.object({ id: z.string().meta({ description: 'Of the subscription.', example: 'audit-orders' }) });

const text = z.string().min(1).max(255);
const eventExample = {
  specversion: '1.0',
  id: 'order-7-created',
  source: '/shop',
  type: 'order.created',
  subject: 'eu/7',
  data: { order: 7, total: '19.90' },
};

/** A CloudEvent in the JSON format; binary mode has the same in `ce-*` headers and a body of any type. */
const cloudEventSchema = z
  .object({
    specversion: z.literal('1.0'),
    id: text.meta({ description: 'Unique for its source: the same again is the same event.' }),
    source: text.meta({ description: 'URI reference.' }),
    type: text,
    subject: z.string().optional(),
    time: z.string().optional().meta({ format: 'date-time' }),
    datacontenttype: z.string().optional(),
    dataschema: z.string().optional(),
    data: jsonValueSchema.optional(),
    data_base64: z.string().optional(),
  })
  .catchall(z.union([z.string(), z.boolean(), z.int()]).meta({ description: `Extensions: ${ATTRIBUTE_NAME.source}` }))
  .meta({ id: 'CloudEvent' });

/** What a published event is answered with, also one in an envelope. */
export const publishedSchema = z
  .object({
    event_id: z.string().meta({ example: 'order-7-created' }),
    matched: z.int().min(0).meta({ description: 'Subscriptions that it goes to.' }),
    reach_ids: z.array(z.string()).meta({ description: 'One reach for each of them.' }),
  })
  .meta({ id: 'Published' });

const eventBody: Body = {
  schema: cloudEventSchema,
  mediaTypes: ['application/cloudevents+json'],
  examples: { orderCreated: eventExample },
};

/** Operations on topics and subscriptions. */
export const EVENT_OPERATIONS: Operation[] = [
  {
    method: 'post',
    path: '/v1/topics/{topic}/events',
    id: 'publishEvent',
    tag: 'events',
    summary: 'Publish an event to everybody who subscribes to the topic',
    description:
      'A CloudEvent 1.0, structured or binary (`ce-*` headers). Durable from the answer on; each subscriber gets a reach of its own. The same source and id again is the same event: the same answer, and nothing is delivered twice. `Prefer: respond-async` answers before the reaches are started.',
    params: z.object({ topic: topicSchema }),
    body: eventBody,
    answers: { 202: { description: 'Accepted', body: json(publishedSchema) } },
    problems: [...BODY_PROBLEMS, 'idempotency_key_reused', 'overloaded', 'reach_terminal', 'delegation_loop'],
  },
  {
    method: 'get',
    path: '/v1/subscriptions',
    id: 'listSubscriptions',
    tag: 'events',
    summary: 'List subscriptions',
    description: 'By id; those of other gateways show up within milliseconds.',
    query: subscriptionQuerySchema.extend({ limit: z.int().min(1).max(200).default(50) }),
    answers: { 200: { description: 'A page', body: json(listSchema(subscriptionSchema)) } },
    problems: ['invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/subscriptions/{id}',
    id: 'getSubscription',
    tag: 'events',
    summary: 'One subscription',
    params,
    answers: { 200: { description: 'The subscription', body: json(subscriptionSchema) } },
    problems: ['not_found'],
  },
  {
    method: 'put',
    path: '/v1/subscriptions/{id}',
    id: 'putSubscription',
    tag: 'events',
    summary: 'Subscribe, or replace what a subscription says',
    description: 'The same again changes nothing. Agent and ability need not be known yet.',
    params,
    body: json(subscriptionBodySchema, {
      agent: { topic: 'orders.*', agent: 'audit_agent' },
      filtered: {
        topic: 'orders.created',
        ability: 'record_order',
        filter: { type: 'order.created', prefix: { subject: 'eu/' } },
      },
    }),
    answers: {
      200: { description: 'It was there; it says this now', body: json(subscriptionSchema) },
      201: {
        description: 'Created',
        body: json(subscriptionSchema),
        headers: { Location: 'Of the subscription.' },
      },
    },
    problems: BODY_PROBLEMS,
  },
  {
    method: 'delete',
    path: '/v1/subscriptions/{id}',
    id: 'deleteSubscription',
    tag: 'events',
    summary: 'End a subscription',
    description: 'Events that were accepted before are delivered all the same.',
    params,
    answers: { 204: { description: 'Ended', body: null } },
    problems: ['not_found'],
  },
];
