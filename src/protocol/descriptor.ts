import { z } from 'zod';
import { ABILITY_NAME, AGENT_NAME, jsonObjectSchema, jsonValueSchema } from './envelope';
import * as limits from './limits';
import { isVersionRange, normalizeVersion, VERSION_RANGE_FIX } from './versions';

const MAX_CALL_MS = 86_400_000;
/** Characters of a queue's name: no blanks, no wildcards of access rules. */
const QUEUE_NAME = /^[A-Za-z0-9._@:/{}+-]{1,200}$/;
const jsonSchemaDocument = z.union([jsonObjectSchema, z.boolean()]);
const abilityName = z
  .string()
  .regex(ABILITY_NAME, 'must be letters of any script, digits, _ - or . and at most 128 characters')
  .refine((name) => name === name.normalize('NFC'), 'must be in Unicode form NFC');

/** One ability of an agent. A bare string is a name. */
const capabilitySchema = z.strictObject({
  name: abilityName,
  description: z.string().max(4096).default(''),
  input_schema: jsonSchemaDocument.optional(),
  output_schema: jsonSchemaDocument.optional(),
  examples: z.array(z.string().min(1).max(2048)).max(200).default([]),
  timeout_ms: z.number().int().min(1).max(MAX_CALL_MS).optional(),
  idempotent: z.boolean().optional().meta({
    description:
      'true: may be sent again and takes the fast path; false: never sent again once received; absent: sent again with the same key.',
  }),
  idempotency_from: z
    .string()
    .regex(/^(\/([^~/]|~[01])*)+$/, 'must be a JSON pointer such as /ticket_id')
    .optional(),
  fallback: jsonValueSchema.optional().meta({
    description:
      'What stands in when the ability cannot be had, marked degraded: a text (or {"agent": …}) names another agent that is asked for the same ability; anything else is the answer itself.',
  }),
});

const endpointSchema = z.strictObject({
  protocol: z.enum(['http', 'grpc', 'mq', 'worker', 'a2a', 'mcp']),
  address: z.union([z.string().min(1).max(2048), z.array(z.string().min(1).max(2048)).min(1).max(64)]).optional(),
  task_queue: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'worker only; default `agent-reach.NAME@VERSION`' }),
  queue: z
    .string()
    .regex(QUEUE_NAME, 'must be 1 to 200 letters, digits and any of . _ @ : / { } + -')
    .optional()
    .meta({ description: 'mq only: the stream; default `agent-reach.NAME@VERSION`' }),
  username: z
    .string()
    .regex(/^[^\s:@]{1,128}$/, 'must be a user name of up to 128 characters')
    .optional()
    .meta({ description: 'mq only: the ACL user; its password is the token of `auth`' }),
  consumers: z.enum(['registered', 'anonymous']).optional().meta({
    description:
      'mq only: `registered` (default): the queue is ready while an instance that heartbeats is; `anonymous`: its consumers cannot call the gateway, and it is ready until its calls say otherwise',
  }),
  timeout_ms: z.number().int().min(1).max(MAX_CALL_MS).optional(),
  max_retry: z.number().int().min(0).max(limits.MAX_RETRY_LIMIT).default(limits.DEFAULT_MAX_RETRY),
  ack_timeout_ms: z.number().int().min(1).max(MAX_CALL_MS).optional(),
});

const authSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('static_token'), token_env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/) }),
]);

const healthCheckSchema = z.strictObject({
  interval_sec: z.number().min(1).max(3600).default(10),
  timeout_sec: z.number().min(0.1).max(60).default(5),
  path: z.string().startsWith('/').max(512).optional(),
});

const versionSchema = z
  .string()
  .max(128)
  .refine((text) => normalizeVersion(text) !== null, 'must be a full semantic version such as 1.4.0')
  .overwrite((text) => normalizeVersion(text) ?? text)
  .meta({ description: 'Semver; a leading v is dropped.', example: '1.4.0' });

/** `latest` is a request, not something a version can promise to serve. */
const servedRangeSchema = z
  .string()
  .max(128)
  .refine((text) => text !== 'latest' && isVersionRange(text), `must be a version or range: ${VERSION_RANGE_FIX}`);

/** An agent's descriptor (R12), one YAML or JSON document per agent and version. Unknown keys are refused. */
export const descriptorSchema = z.strictObject({
  name: z.string().regex(AGENT_NAME, 'must be lower-case letters, digits, _ or - and at most 64 characters'),
  version: versionSchema,
  description: z.string().max(4096).optional(),
  compatible_versions: z.array(servedRangeSchema).max(64).default([]),
  accepted_message_types: z.array(z.string().min(1).max(64)).min(1).max(64).default(['task']),
  max_concurrency: z.number().int().min(1).max(100_000).optional(),
  qps: z.number().positive().max(1_000_000).optional(),
  capabilities: z
    .array(z.union([capabilitySchema, abilityName.transform((name) => capabilitySchema.parse({ name }))]))
    .min(1)
    .max(1000),
  endpoint: endpointSchema.optional(),
  auth: authSchema.default({ type: 'none' }),
  health_check: healthCheckSchema.optional(),
});

/** A valid descriptor with defaults applied, its version normalised (no leading `v`). */
export type Descriptor = z.infer<typeof descriptorSchema>;
/** A descriptor as a person writes it. */
export type DescriptorDraft = z.input<typeof descriptorSchema>;
export type Capability = z.infer<typeof capabilitySchema>;
export type Endpoint = z.infer<typeof endpointSchema>;
