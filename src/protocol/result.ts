/**
 * Schemas of what a reach answers: receipt, result, problem, trace, events, late result (api.md, "Shapes").
 * They are the source of the OpenAPI document; shapes.ts has the same as plain types for code that must stay
 * free of zod, and result.test.ts holds that the two agree.
 */
import { z } from 'zod';
import { contextConflictSchema } from './context';
import { deliverySummarySchema } from './callback-target';
import { jsonObjectSchema, jsonValueSchema } from './envelope';
import { ERROR_CODES, ERROR_TABLE, type ErrorCode } from './error-codes';

const id = (example: string) => z.string().meta({ example });
const timestamp = z.string().meta({ format: 'date-time', example: '2026-05-04T08:30:00.000Z' });
const milliseconds = z.number().min(0);
const traceId = z.string().meta({ description: 'W3C trace id.', example: '4bf92f3577b34da6a3ce929d0e0e4736' });

export const errorCodeSchema = z.enum(ERROR_CODES).meta({
  id: 'ErrorCode',
  description: ERROR_CODES.map(
    (code) => `- \`${code}\` (${ERROR_TABLE[code].status}): ${ERROR_TABLE[code].title}`,
  ).join('\n'),
});

export const reachStatusSchema = z
  .enum(['accepted', 'running', 'completed', 'dead_lettered', 'cancelled', 'expired', 'outcome_unknown'])
  .meta({ id: 'ReachStatus' });

export const attemptSchema = z
  .object({
    n: z.number().int().min(1),
    agent_name: z.string(),
    agent_version: z.string(),
    instance: z.string().nullable(),
    started_at: timestamp,
    duration_ms: milliseconds,
    received: z.enum(['no', 'yes', 'unknown']).meta({ description: 'Whether the agent got the request.' }),
    code: errorCodeSchema.optional(),
    message: z.string().optional(),
  })
  .meta({ id: 'Attempt' });

export const fieldErrorSchema = z
  .object({
    pointer: z.string().meta({ description: 'RFC 6901 JSON pointer.', example: '/timeout_ms' }),
    message: z.string().meta({ example: 'must be a number (got text "5000")' }),
    fix: z.string().optional(),
  })
  .meta({ id: 'FieldError' });

/** An ability of an agent as a search by meaning finds it. */
export const abilityHitSchema = z
  .object({
    ability: z.string(),
    agent_name: z.string(),
    agent_version: z.string(),
    score: z.number().min(0).max(1).meta({ description: 'How well it fits on its own; under 0.5 is off topic.' }),
    confidence: z
      .number()
      .min(0)
      .max(1)
      .meta({ description: 'How sure it is that this one is meant; low when off topic or one of several alike.' }),
  })
  .meta({ id: 'AbilityHit' });

export const diagnosisSchema = z
  .object({
    reason: z.enum([
      'name_mismatch',
      'agent_unknown',
      'not_ready',
      'never_registered',
      'message_type_not_accepted',
      'version_mismatch',
      'payload_schema_mismatch',
      'delegation_loop',
      'breaker_open',
      'already_tried',
      'overloaded',
      'degraded_mode',
      'no_route',
      'off_topic',
      'ambiguous',
    ]),
    message: z.string(),
    advice: z.string().optional().meta({ description: 'What to do about it.' }),
    retry_after_ms: milliseconds.optional().meta({ description: 'When the same request may work.' }),
    causes: z
      .array(z.object({ cause: z.string(), count: z.number().int().min(1), message: z.string() }))
      .optional()
      .meta({ description: 'What keeps how many, nearest to success first.' }),
    closest: z.array(z.object({ name: z.string(), why: z.string() })).optional(),
    agents: z
      .array(
        z.object({
          agent_name: z.string(),
          agent_version: z.string(),
          status: z.string(),
          since: z.string().nullable(),
          detail: z.string(),
          cause: z.string().optional(),
          by: z.string().optional().meta({ description: 'Who says so.' }),
          retry_after_ms: milliseconds.optional(),
        }),
      )
      .optional(),
    available_versions: z.array(z.string()).optional(),
    candidates: z
      .array(abilityHitSchema)
      .optional()
      .meta({ description: 'Of an open match that found nothing: what is nearest in meaning, best first.' }),
  })
  .meta({ id: 'Diagnosis', description: 'Why nobody could be chosen.' });

/** RFC 9457, `application/problem+json`. */
export const problemSchema = z
  .object({
    type: z.string().meta({ example: 'urn:agent-reach:error:invalid_request' }),
    title: z.string(),
    status: z.number().int(),
    code: errorCodeSchema,
    detail: z.string(),
    retryable: z.boolean(),
    degraded: z.boolean(),
    reach_id: z.string().optional(),
    agent_name: z.string().optional(),
    agent_version: z.string().optional(),
    route_reason: z.string().optional(),
    decision_id: z.string().optional(),
    trace_id: z.string().optional(),
    errors: z.array(fieldErrorSchema).optional(),
    diagnosis: diagnosisSchema.optional(),
    retry_after_ms: milliseconds.optional(),
    attempts: z.array(attemptSchema).optional(),
    reach_status: z.enum(['dead_lettered', 'expired', 'outcome_unknown']).optional(),
    last_error: z.object({ code: errorCodeSchema, message: z.string() }).optional(),
    details: z.record(z.string(), z.unknown()).optional(),
    conflicts: z.array(contextConflictSchema).optional(),
  })
  .meta({ id: 'Problem' });

export const linksSchema = z.object({ self: z.string(), events: z.string(), temporal: z.string().nullable() });

const known = {
  reach_id: id('r-k5x2m7qyzv3c4b6n7a2s4d5f6g7h2j3k'),
  message_id: id('018f3a5e-7c2b-7d11-9a4e-1b2c3d4e5f60'),
  agent_name: id('refund_agent'),
  agent_version: id('1.2.0'),
  route_reason: z.string().meta({ example: 'refund_agent scores 0.91, ahead of aftersale_agent with 0.62' }),
  decision_id: z.string(),
  trace_id: traceId,
  replayed: z.boolean().meta({ description: 'The outcome of an earlier send under the same key.' }),
};

const told = {
  callback: deliverySummarySchema
    .optional()
    .meta({ description: "How the callback with the reach's end stands; only where the envelope asks for one." }),
  reply: deliverySummarySchema.optional().meta({ description: 'The same of `reply_to`.' }),
};

const acceptance = {
  stage: z.enum(['routed', 'agent_accepted']),
  accepted_at: timestamp,
  links: linksSchema,
};

const estimated = {
  eta_ms: milliseconds.optional().meta({
    description:
      'Half of such reaches are over by then, counted from `accepted_at`; absent where too little was measured.',
    example: 1200,
  }),
  eta_p95_ms: milliseconds.optional().meta({ description: '95 % of them are.', example: 3400 }),
  warnings: z
    .array(z.object({ code: z.enum(['deadline_at_risk']), message: z.string() }))
    .optional()
    .meta({ description: 'What to know although it was accepted.' }),
};

/** 202: the reach is durable and routed. */
export const receiptSchema = z
  .object({
    ...known,
    ...acceptance,
    status: z.enum(['accepted', 'running']),
    expires_in_ms: milliseconds,
    ...estimated,
  })
  .meta({ id: 'Receipt' });

/** 200: the agent has answered. */
export const resultSchema = z
  .object({
    ...known,
    status: z.literal('completed'),
    ability: z.string(),
    instance: z.string().nullable(),
    confidence: z.number().min(0).max(1).meta({
      description:
        "The decision's: how far the agent stands out, and of an open match (`*`) no more than its ability is certain. The agent's own stays in `output`.",
    }),
    output: jsonObjectSchema,
    output_ref: z.string().optional().meta({ description: 'The answer was large: `GET /v1/payloads/{output_ref}`.' }),
    answer: jsonValueSchema.optional(),
    degraded: z.boolean().meta({ description: "The ability's fallback answered." }),
    attempts: z.number().int().min(0),
    duration_ms: milliseconds,
    ...told,
  })
  .meta({ id: 'Result' });

/** A reach that has not (or not well) ended: `GET /v1/reaches/{id}`. */
export const reachViewSchema = z
  .object({
    ...known,
    ...acceptance,
    status: reachStatusSchema,
    ability: z.string(),
    attempts: z.array(attemptSchema),
    error: problemSchema.optional(),
    ended_at: timestamp.optional(),
    ...told,
  })
  .meta({ id: 'Reach' });

/** One row of `GET /v1/reaches`. */
export const reachRowSchema = z
  .object({
    reach_id: z.string(),
    status: reachStatusSchema,
    ability: z.string().nullable(),
    agent_name: z.string().nullable(),
    agent_version: z.string().nullable(),
    source_agent: z.string().nullable(),
    accepted_at: timestamp,
    ended_at: timestamp.nullable(),
    duration_ms: milliseconds.nullable(),
  })
  .meta({ id: 'ReachRow' });

/** A page of a list. */
export function listSchema<S extends z.ZodType>(item: S) {
  return z.object({ items: z.array(item), next_cursor: z.string().optional() });
}

export const traceHopSchema = z
  .object({
    name: z.enum(['accept', 'route', 'queue', 'invoke', 'wait_result', 'notify']),
    started_at: timestamp,
    duration_ms: milliseconds,
    attempt: z.number().int().optional(),
    agent_name: z.string().optional(),
    agent_version: z.string().optional(),
    instance: z.string().nullable().optional(),
    outcome: z.string(),
    reason: z.string().optional(),
    children: z.array(z.string()).optional(),
  })
  .meta({ id: 'TraceHop' });

/** `GET /v1/reaches/{id}/trace`, from the Temporal history (R33). */
export const traceSchema = z
  .object({
    trace_id: traceId,
    reach_id: z.string(),
    status: reachStatusSchema,
    started_at: timestamp,
    duration_ms: milliseconds,
    hops: z.array(traceHopSchema),
  })
  .meta({ id: 'Trace' });

/** One event of a reach's stream; `seq` grows, the stream ends with the terminal status. */
export const reachEventSchema = z
  .object({
    seq: z.number().int().min(0),
    type: z.enum([
      'accepted',
      'routed',
      'agent_accepted',
      'attempt_failed',
      'chunk',
      'completed',
      'dead_lettered',
      'cancelled',
      'expired',
      'outcome_unknown',
    ]),
    at: timestamp,
    data: jsonObjectSchema,
  })
  .meta({ id: 'ReachEvent' });

const isAgentsFault = (code: ErrorCode): boolean => code.startsWith('agent_') && ERROR_TABLE[code].status >= 500;

/** `POST /v1/reaches/{id}/result`: what an agent that answered "accepted" delivers later, its answer or its failure. */
export const lateResultSchema = z
  .union([
    z.strictObject({ output: jsonObjectSchema }),
    z.strictObject({
      error: z.strictObject({
        code: z.enum(ERROR_CODES).refine(isAgentsFault, 'must be one of the agent_… codes'),
        message: z.string().min(1).max(2_000),
      }),
    }),
  ])
  .meta({ id: 'LateResult' });
