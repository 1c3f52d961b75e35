/** The operations of the HTTP API as data; openapi.ts turns them into a document. */
import { z } from 'zod';
import {
  abilityHitSchema,
  abilitySchema,
  abilitySearchSchema,
  agentRegistrationSchema,
  agentSchema,
  descriptorDocument,
  routeExplanationSchema,
} from './agent-schemas';
import { envelopeSchema } from './envelope';
import type { ErrorCode } from './error-codes';
import { MAX_WAIT_SEC } from './limits';
import * as examples from './openapi-examples';
import {
  heartbeatAnswerSchema,
  heartbeatSchema,
  instanceRegistrationSchema,
  registrationAnswerSchema,
} from './registration';
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
} from './result';

/** A body: its schema by media type, and examples by name. */
export interface Body {
  schema: z.ZodType;
  /** Default `application/json` alone. */
  mediaTypes?: readonly string[];
  examples?: Record<string, unknown>;
}

/** One operation. Every one of `/v1` may also answer 401 and the failures of the platform. */
export interface Operation {
  method: 'get' | 'post' | 'put' | 'delete';
  path: string;
  id: string;
  tag: 'reaches' | 'agents' | 'abilities' | 'operations';
  summary: string;
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: Body;
  /** By status; a body of null has none. */
  answers: Record<number, { description: string; body: Body | null; headers?: Record<string, string> }>;
  /** Codes of the problem documents it may answer. */
  problems: readonly ErrorCode[];
}

const json = (schema: z.ZodType, named?: Record<string, unknown>): Body => ({ schema, examples: named });
const text = (mediaType: string): Body => ({ schema: z.string(), mediaTypes: [mediaType] });

const reachParam = z.object({
  id: z.string().meta({ description: 'reach_id', example: 'r-k5x2m7qyzv3c4b6n7a2s4d5f6g7h2j3k' }),
});
const agentParam = z.object({ name: z.string().meta({ description: "The agent's name.", example: 'refund_agent' }) });
const instanceParams = agentParam.extend({ instance_id: z.string().meta({ example: 'refund-7f9c' }) });
const waitSeconds = z.int().min(0).max(MAX_WAIT_SEC).optional();
const flag = z.enum(['true', 'false']).optional();

const traceHeaders = {
  traceparent: z.string().optional().meta({ description: 'W3C trace context; the reach joins this trace.' }),
};

const BODY_PROBLEMS = [
  'invalid_request',
  'duplicate_key',
  'input_too_deep',
  'forbidden_key',
  'unsupported_media_type',
  'payload_too_large',
] as const;
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

const envelopeDocument = envelopeSchema.meta({ id: 'Envelope' });

const reaches: Operation[] = [
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
      ...traceHeaders,
    }),
    body: json(envelopeDocument, examples.envelopes),
    answers: {
      200: { description: 'The agent has answered', body: json(resultSchema, { completed: examples.result }) },
      202: {
        description: 'Durable and routed',
        body: json(receiptSchema, { accepted: examples.receipt }),
        headers: { Location: 'Where the outcome will be.' },
      },
    },
    problems: [...BODY_PROBLEMS, ...ROUTE_PROBLEMS, 'idempotency_key_reused', ...OUTCOME_PROBLEMS],
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
      agent: z.string().optional(),
      source: z.string().optional(),
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
    problems: [...BODY_PROBLEMS, 'response_schema_mismatch', 'not_found', 'reach_terminal'],
  },
];

const agents: Operation[] = [
  {
    method: 'post',
    path: '/v1/agents',
    id: 'registerAgent',
    tag: 'agents',
    summary: 'Register a descriptor',
    query: z.object({
      dry_run: flag.meta({ description: 'Check only.' }),
      replace: flag.meta({ description: 'Replace the same version with other content.' }),
    }),
    body: {
      schema: descriptorDocument,
      mediaTypes: ['application/json', 'application/yaml'],
      examples: { refund: examples.descriptor },
    },
    answers: {
      200: { description: 'Known already, with the same content; or a dry run', body: json(agentRegistrationSchema) },
      201: { description: 'Registered', body: json(agentRegistrationSchema), headers: { Location: 'The agent.' } },
    },
    problems: [
      ...BODY_PROBLEMS,
      'invalid_descriptor',
      'schema_unsafe',
      'callback_url_forbidden',
      'token_env_forbidden',
      'name_collision',
      'version_exists',
    ],
  },
  {
    method: 'get',
    path: '/v1/agents',
    id: 'listAgents',
    tag: 'agents',
    summary: 'List agents',
    answers: { 200: { description: 'All agents', body: json(listSchema(agentSchema)) } },
    problems: [],
  },
  {
    method: 'get',
    path: '/v1/agents/{name}',
    id: 'getAgent',
    tag: 'agents',
    summary: 'Everything known about an agent',
    params: agentParam,
    answers: { 200: { description: 'The agent', body: json(agentSchema) } },
    problems: ['agent_not_found'],
  },
  {
    method: 'delete',
    path: '/v1/agents/{name}',
    id: 'deleteAgent',
    tag: 'agents',
    summary: 'Remove an agent with all its versions and instances',
    params: agentParam,
    answers: { 204: { description: 'Removed', body: null } },
    problems: ['agent_not_found'],
  },
  {
    method: 'put',
    path: '/v1/agents/{name}/instances/{instance_id}',
    id: 'registerInstance',
    tag: 'agents',
    summary: 'Register an instance under a lease',
    params: instanceParams,
    body: json(instanceRegistrationSchema, {
      push: { version: '1.2.0', host: 'http://10.0.0.7:9000', ttl_sec: 30, max_concurrency: 8 },
    }),
    answers: { 200: { description: 'Registered, with a new epoch', body: json(registrationAnswerSchema) } },
    problems: [...BODY_PROBLEMS, 'agent_not_found', 'version_not_found', 'callback_url_forbidden'],
  },
  {
    method: 'delete',
    path: '/v1/agents/{name}/instances/{instance_id}',
    id: 'deregisterInstance',
    tag: 'agents',
    summary: 'End a registration',
    params: instanceParams,
    query: z.object({ epoch: z.string().meta({ description: 'Of the registration to end.', example: '42' }) }),
    answers: { 204: { description: 'Ended', body: null } },
    problems: ['invalid_request', 'stale_epoch', 'lease_expired'],
  },
  {
    method: 'post',
    path: '/v1/agents/{name}/instances/{instance_id}/heartbeat',
    id: 'heartbeat',
    tag: 'agents',
    summary: 'Keep the lease alive and report status and load',
    params: instanceParams,
    body: json(heartbeatSchema, { ready: { epoch: '42', status: 'ready', load: 0.25, in_flight: 2 } }),
    answers: { 200: { description: 'Renewed', body: json(heartbeatAnswerSchema) } },
    problems: [...BODY_PROBLEMS, 'stale_epoch', 'lease_expired'],
  },
];

const abilities: Operation[] = [
  {
    method: 'get',
    path: '/v1/abilities',
    id: 'listAbilities',
    tag: 'abilities',
    summary: 'The catalogue of abilities',
    answers: { 200: { description: 'All abilities', body: json(listSchema(abilitySchema)) } },
    problems: [],
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

const readiness = z.object({
  ready: z.boolean(),
  draining: z.boolean(),
  temporal: z.enum(['ok', 'unreachable']),
  registry: z.object({ connected: z.boolean(), last_sync_age_ms: z.number() }),
});

const operations: Operation[] = [
  {
    method: 'get',
    path: '/healthz',
    id: 'health',
    tag: 'operations',
    summary: 'The process is alive',
    answers: { 200: { description: 'Alive', body: json(z.object({ status: z.literal('ok') })) } },
    problems: [],
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'readiness',
    tag: 'operations',
    summary: 'Reaches can be accepted',
    answers: {
      200: { description: 'Ready', body: json(readiness) },
      503: { description: 'Not ready; the report says which part', body: json(readiness) },
    },
    problems: [],
  },
  {
    method: 'get',
    path: '/metrics',
    id: 'metrics',
    tag: 'operations',
    summary: 'Prometheus metrics',
    answers: { 200: { description: 'Text exposition', body: text('text/plain') } },
    problems: [],
  },
  {
    method: 'get',
    path: '/openapi.json',
    id: 'openapi',
    tag: 'operations',
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1', body: json(z.looseObject({ openapi: z.string() })) } },
    problems: [],
  },
  {
    method: 'get',
    path: '/docs',
    id: 'docs',
    tag: 'operations',
    summary: 'This document to read and try',
    answers: { 200: { description: 'HTML', body: text('text/html') } },
    problems: [],
  },
];

/** Every operation of this release. */
export const OPERATIONS: readonly Operation[] = [...reaches, ...agents, ...abilities, ...operations];
