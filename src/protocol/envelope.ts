import { z } from 'zod';
import { callbackSchema, replyToSchema } from './callback-target';
import * as limits from './limits';
import { isPathId, PATH_ID_RULE } from './path-id';
import { isPayloadRef } from './payload-ref';
import type { EventContext, Json, JsonObject } from './shapes';
import { isVersionRange, normalizeVersion, VERSION_RANGE_FIX } from './versions';

/** Text without control characters: safe in logs and on terminals. */
export const NO_CONTROL = /^[^\u0000-\u001f\u007f]*$/;

/** Ability names: letters of any script, digits, `_ - .`, up to 128 characters, NFC (checked, never altered). */
export const ABILITY_NAME = /^[\p{L}\p{M}\p{N}_.-]{1,128}$/u;
/** Agent names. */
export const AGENT_NAME = /^[a-z0-9_-]{1,64}$/;

const noControl = 'must not contain control characters';

const metadataSchema = z.record(z.string().min(1).max(128), z.string().max(4096).regex(NO_CONTROL, noControl));

const idText = (max: number) => z.string().min(1).max(max).regex(NO_CONTROL, noControl);

/**
 * Any JSON object. Only the outside is looked at: what is inside has passed `parseJsonStrict` or
 * `assertPlainJson`, and walking a megabyte of payload again would cost more than all the rest of a request.
 */
export const jsonObjectSchema = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject, JsonObject>;

/** Any JSON value, on the same terms. */
export const jsonValueSchema = z.unknown() as unknown as z.ZodType<Json, Json>;

/** Idempotency keys: 1–256 characters without control characters. */
export const idempotencyKeySchema = idText(256).meta({
  description: 'Same key, same reach: the repeat returns the first outcome. Scope: tenant, target, key; at least 24 h.',
});

/** The deadline of a whole reach in milliseconds; numbers only, so that nothing becomes an immediate timeout. */
export const timeoutMsSchema = z.number().int().min(1).max(limits.MAX_TIMEOUT_MS);

/** A version range of a request (R20). */
export const versionRangeSchema = z
  .string()
  .max(128)
  .refine(isVersionRange, `must be a version or range: ${VERSION_RANGE_FIX}`)
  .meta({
    description: 'Semver range; pre-releases only when named; `latest` for the highest release.',
    example: '^1.2.0',
  });

const targetAgentSchema = z
  .string()
  .min(1)
  .max(200)
  .refine((target) => parseTargetAgent(target) !== null, 'must be a name, or name#version with a full version')
  .meta({ description: '`name` or `name#version`.', example: 'refund_agent#1.2.0' });

/** An agent asked for by name, at one version when given. */
export interface TargetAgent {
  name: string;
  version?: string;
}

/** Takes `name` or `name#version` apart (a leading `v` of the version is dropped); null when the version is none. */
export function parseTargetAgent(target: string): TargetAgent | null {
  const hash = target.indexOf('#');
  if (hash === -1) return { name: target };
  const version = normalizeVersion(target.slice(hash + 1));
  return version === null || hash === 0 ? null : { name: target.slice(0, hash), version };
}

/** Cross-field rules run even when a field is wrong, so that a caller learns everything at once. */
const always = { when: (payload: { value: unknown }) => typeof payload.value === 'object' && payload.value !== null };

/**
 * The envelope of `POST /v1/reaches` (R2), as a caller writes it. Unknown keys are refused.
 * Defaults that depend on other fields are filled by `completeEnvelope`.
 */
export const envelopeSchema = z
  .strictObject({
    ability: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .meta({ description: 'The ability wanted; `*` asks for whichever fits the payload.', example: 'refund' }),
    target_agent: targetAgentSchema.optional(),
    payload: jsonObjectSchema.optional().meta({ description: "Validated against the ability's input schema." }),
    payload_ref: z.string().refine(isPayloadRef, 'must read sha256:<64 hex digits>:<bytes>').optional().meta({
      description: 'In place of `payload`: what `POST /v1/payloads/{message_id}:complete` answered.',
    }),
    type: idText(64).default('task'),
    mode: z
      .enum(['sync', 'async'])
      .default('sync')
      .meta({ description: 'With `event` an envelope is another one: it has a topic and no target.' }),
    delivery_semantics: z.enum(['at_least_once', 'at_most_once', 'exactly_once']).default('at_least_once'),
    idempotency_key: idempotencyKeySchema.optional(),
    timeout_ms: timeoutMsSchema.optional(),
    version: versionRangeSchema.optional(),
    group: idText(64).default('default'),
    source_agent: idText(128).optional(),
    message_id: idText(128).optional(),
    context_id: idText(128).refine(isPathId, PATH_ID_RULE).optional(),
    max_total_retries: z.number().int().min(0).max(1000).default(limits.DEFAULT_MAX_TOTAL_RETRIES),
    callback: callbackSchema.optional().meta({
      description: 'The end of the reach is posted there, signed per Standard Webhooks.',
    }),
    reply_to: replyToSchema.optional().meta({
      description: 'The end of the reach is signalled to this workflow, or published to this topic.',
    }),
    metadata: metadataSchema.default({}),
  })
  .refine((value) => value.ability !== undefined || value.target_agent !== undefined, {
    path: ['ability'],
    message: 'is missing; name an ability, a target_agent, or both',
    ...always,
  })
  .refine((value) => value.payload !== undefined || value.payload_ref !== undefined, {
    path: ['payload'],
    message: 'is missing; send a payload or a payload_ref',
    ...always,
  })
  .refine((value) => value.payload === undefined || value.payload_ref === undefined, {
    path: ['payload_ref'],
    message: 'stands beside a payload; send one of them',
    ...always,
  })
  .refine((value) => value.delivery_semantics !== 'exactly_once' || value.idempotency_key !== undefined, {
    path: ['idempotency_key'],
    message: 'is missing; exactly_once needs one',
    ...always,
  });

/** An envelope as written, defaults of single fields applied. */
export type EnvelopeInput = z.infer<typeof envelopeSchema>;
/** An envelope as a caller may write it. */
export type EnvelopeDraft = z.input<typeof envelopeSchema>;

/** Where an idempotency key comes from (R2): the sender, the ability's `idempotency_from`, or the message id. */
export type KeyOrigin = 'caller' | 'payload' | 'message';

/** A complete envelope: what a reach works with and what its history shows. */
export interface Envelope extends Omit<
  EnvelopeInput,
  'payload' | 'timeout_ms' | 'idempotency_key' | 'source_agent' | 'message_id'
> {
  /** Empty where the content is kept under `payload_ref`: then it is read where it is needed, and nowhere else. */
  payload: JsonObject;
  timeout_ms: number;
  idempotency_key: string;
  /** Decides how the reach id is derived; absent means `caller`. */
  key_origin?: KeyOrigin;
  source_agent: string;
  message_id: string;
  /** Set when this is an event's delivery to one subscriber. */
  event?: EventContext;
}

/** What keeps a caller's calls with one version of an agent (R21): the sender's own idempotency key, else `metadata.sticky_key`. */
export function stickyKeyOf({
  idempotency_key,
  key_origin = 'caller',
  metadata,
}: Pick<Envelope, 'metadata'> & Partial<Pick<Envelope, 'idempotency_key' | 'key_origin'>>): string | undefined {
  if (key_origin === 'caller' && idempotency_key !== undefined) return idempotency_key;
  return Object.hasOwn(metadata, 'sticky_key') ? metadata.sticky_key : undefined;
}
