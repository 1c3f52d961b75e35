/** `/v1/reaches`: send, follow, cancel. */
import { z } from 'zod';
import { MAX_WAIT_SEC } from '../limits';
import {
  lateResultSchema,
  listSchema,
  reachEventSchema,
  reachRowSchema,
  reachStatusSchema,
  reachViewSchema,
  receiptSchema,
  resultSchema,
  traceSchema,
} from '../result';
import { eventEnvelopeSchema } from '../event-envelope';
import { publishedSchema } from './events';
import * as examples from './examples';
import { BODY_PROBLEMS, envelopeDocument, json, type Operation } from './operation';

const reachParam = z.object({
  id: z.string().meta({ description: 'reach_id', example: 'r-k5x2m7qyzv3c4b6n7a2s4d5f6g7h2j3k' }),
});
const waitSeconds = z.int().min(0).max(MAX_WAIT_SEC).optional();

const nestingHeaders = {
  'X-Reach-Token': z.string().optional().meta({
    description: 'Of the call that this reach is made for: it inherits what is left of it. Needs no API key.',
  }),
  'X-Reach-Parent': z
    .string()
    .optional()
    .meta({ description: '`REACH_ID/RUN_ID` in place of the token, for agents that pull; with an API key.' }),
  'X-Reach-Deadline-Ms': z
    .int()
    .min(0)
    .optional()
    .meta({ description: 'What that call has left by the clock of its agent.' }),
};

const traceHeaders = {
  traceparent: z.string().optional().meta({ description: 'W3C trace context; the reach joins this trace.' }),
};

const ROUTE_PROBLEMS = [
  'ability_not_found',
  'agent_not_found',
  'version_not_found',
  'message_type_not_accepted',
  'payload_schema_mismatch',
  'no_ready_instance',
  'all_instances_unavailable',
  'circuit_open',
  'overloaded',
  'degraded_mode',
  'rate_limited',
] as const;
const OUTCOME_PROBLEMS = [
  'agent_rejected',
  'response_schema_mismatch',
  'agent_protocol_error',
  'agent_response_too_large',
  'agent_auth_unconfigured',
  'agent_error',
  'agent_unavailable',
  'agent_timeout',
  'agent_busy',
  'deadline_exceeded',
  'worker_lost',
  'retry_budget_exhausted',
  'delegation_loop',
] as const;

/** Operations on reaches. */
export const REACH_OPERATIONS: Operation[] = [
  {
    method: 'post',
    path: '/v1/reaches',
    id: 'sendReach',
    tag: 'reaches',
    summary: 'Reach an agent or an ability',
    description:
      'Answers 200 with the result when it is there in time, else 202 with a receipt once the reach is durable and routed.',
    headers: z.object({
      Prefer: z
        .string()
        .optional()
        .meta({ description: '`wait=N` seconds, or `respond-async` (RFC 7240).', example: 'wait=10' }),
      'Idempotency-Key': z
        .string()
        .min(1)
        .max(256)
        .optional()
        .meta({ description: 'As `idempotency_key` in the body; both must agree.' }),
      'X-Reach-Timeout-Ms': z
        .int()
        .min(1)
        .optional()
        .meta({ description: 'As `timeout_ms` in the body; both must agree.' }),
      ...nestingHeaders,
      ...traceHeaders,
    }),
    body: json(z.union([envelopeDocument, eventEnvelopeSchema]), {
      ...examples.envelopes,
      event: examples.eventEnvelope,
    }),
    answers: {
      200: { description: 'The agent has answered', body: json(resultSchema, { completed: examples.result }) },
      202: {
        description: 'Durable and routed; or, for `mode: event`, what it goes to',
        body: json(z.union([receiptSchema, publishedSchema]), {
          accepted: examples.receipt,
          event: examples.published,
        }),
        headers: { Location: 'Where the outcome will be.' },
      },
    },
    problems: [
      'storage_full',
      ...BODY_PROBLEMS,
      ...ROUTE_PROBLEMS,
      'idempotency_key_reused',
      'forbidden',
      'reach_terminal',
      ...OUTCOME_PROBLEMS,
    ],
  },
  {
    method: 'get',
    path: '/v1/reaches',
    id: 'listReaches',
    tag: 'reaches',
    summary: 'List reaches',
    description: 'Newest first; eventually consistent.',
    query: z.object({
      status: reachStatusSchema.optional(),
      ability: z.string().optional(),
      agent: z.string().optional().meta({ description: '`name` or `name#version`.' }),
      source: z.string().optional(),
      parent: z.string().optional().meta({ description: 'Reaches that were made for this one.' }),
      since: z.string().optional().meta({ format: 'date-time' }),
      cursor: z.string().optional(),
      limit: z.int().min(1).max(200).default(50),
    }),
    answers: {
      200: {
        description: 'A page',
        body: json(listSchema(reachRowSchema).extend({ consistency: z.literal('eventual') })),
      },
    },
    problems: ['invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/reaches/{id}',
    id: 'getReach',
    tag: 'reaches',
    summary: 'Status, result or error; long poll with `wait`',
    params: reachParam,
    query: z.object({ wait: waitSeconds.meta({ description: 'Seconds to wait for the end.' }) }),
    answers: {
      200: {
        description: 'The result, or what is known so far',
        body: json(z.union([resultSchema, reachViewSchema]), { completed: examples.result }),
      },
    },
    problems: ['invalid_request', 'not_found'],
  },
  {
    method: 'get',
    path: '/v1/reaches/{id}/events',
    id: 'streamReachEvents',
    tag: 'reaches',
    summary: 'Events of a reach as a stream',
    description:
      'Server-sent events; each `data` is a ReachEvent. Resumes after `Last-Event-ID`; ends with the terminal event.',
    params: reachParam,
    headers: z.object({
      'Last-Event-ID': z.string().optional().meta({ description: 'Opaque; the id of the last event received.' }),
    }),
    answers: {
      200: { description: 'The stream', body: { schema: reachEventSchema, mediaTypes: ['text/event-stream'] } },
    },
    problems: ['not_found'],
  },
  {
    method: 'get',
    path: '/v1/reaches/{id}/trace',
    id: 'traceReach',
    tag: 'reaches',
    summary: 'Hops of a reach, from its Temporal history',
    params: reachParam,
    answers: { 200: { description: 'The trace', body: json(traceSchema) } },
    problems: ['not_found'],
  },
  {
    method: 'post',
    path: '/v1/reaches/{id}:cancel',
    id: 'cancelReach',
    tag: 'reaches',
    summary: 'Cancel a reach',
    params: reachParam,
    answers: {
      202: {
        description: 'Cancellation was requested; the status says when it has happened',
        body: json(z.object({ reach_id: z.string(), status: reachStatusSchema, cancelling: z.boolean() })),
      },
    },
    problems: ['not_found', 'reach_terminal'],
  },
  {
    method: 'post',
    path: '/v1/reaches/{id}/result',
    id: 'deliverResult',
    tag: 'reaches',
    summary: "Deliver an agent's late result",
    description: 'For agents that answered `{accepted:true}`.',
    params: reachParam,
    headers: z.object({ 'X-Reach-Token': z.string().meta({ description: 'The token that came with the call.' }) }),
    body: json(lateResultSchema, examples.lateResults),
    answers: { 202: { description: 'Taken', body: json(z.object({ reach_id: z.string(), accepted: z.boolean() })) } },
    problems: [...BODY_PROBLEMS, 'response_schema_mismatch', 'not_found', 'reach_terminal', 'storage_full'],
  },
  {
    method: 'post',
    path: '/v1/reaches/{id}/progress',
    id: 'showProgress',
    tag: 'reaches',
    summary: 'Show that an agent which accepted still works',
    description:
      'Without a sign for the `ack_timeout_ms` of its endpoint the message is delivered again. 409 says that there is nothing left to work for.',
    params: reachParam,
    headers: z.object({ 'X-Reach-Token': z.string().meta({ description: 'The token that came with the call.' }) }),
    answers: { 202: { description: 'Noted', body: json(z.object({ reach_id: z.string(), accepted: z.boolean() })) } },
    problems: ['unauthorized', 'not_found', 'reach_terminal', 'engine_unavailable'],
  },
];
