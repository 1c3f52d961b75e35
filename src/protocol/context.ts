/**
 * The Context Store on the wire (R32): what `/v1/contexts/{id}` takes and answers. A context is a map of fields; a write says
 * which version of a field it was made from, so that nobody overwrites what they have not seen.
 */
import { z } from 'zod';
import { jsonValueSchema, NO_CONTROL } from './envelope';
import type { Json } from './shapes';

/** Operations of one PATCH. */
export const MAX_CONTEXT_OPERATIONS = 100;
/** Characters of a field's name. */
export const MAX_FIELD_NAME = 256;
/** Characters of a context's id. */
export const MAX_CONTEXT_ID = 128;
/** Fields of one context. */
export const MAX_CONTEXT_FIELDS = 20_000;
/** Largest value that is kept in etcd, and that an answer repeats, bytes of compact JSON. */
export const MAX_CONTEXT_VALUE_BYTES = 1_048_576;
/** All of one context that is in etcd, bytes of compact JSON. */
export const MAX_CONTEXT_BYTES = 4_194_304;
/** Default of `context.claim_above_bytes`: larger values are kept as blobs, 64 KiB. */
export const DEFAULT_CLAIM_ABOVE_BYTES = 65_536;

/** A version of a field: a whole number that only grows, whatever becomes of the field or its context; 0 is "does not exist". */
export type FieldVersion = number;

/** A field as it is read. */
export interface ContextField {
  value: Json;
  version: FieldVersion;
  /** ISO time by the clock of the gateway that wrote it. */
  updated_at: string;
  /** The principal that wrote it last. */
  updated_by: string;
}

/** `GET /v1/contexts/{id}`. */
export interface Context {
  context_id: string;
  fields: Record<string, ContextField>;
}

/** What a PATCH did to the fields it named. */
export interface ContextPatched {
  context_id: string;
  /** A field that was appended to comes without its value, which would be the whole list; and so does one over 1 MiB. */
  fields: Record<string, Omit<ContextField, 'value'> & { value?: Json }>;
  deleted: string[];
}

/** A field that is not at the version a write was made from: what it is now. */
export interface ContextConflict {
  field: string;
  base_version: FieldVersion;
  /** 0: the field does not exist. */
  current_version: FieldVersion;
  /** null where the field does not exist, and where `current_value_ref` stands for it. */
  current_value: Json;
  /** In place of a value over 1 MiB: its size and where to read it, a path of this API. */
  current_value_ref?: { bytes: number; href: string };
}

/** An operation as it was validated. */
export type ContextOperation =
  | { op: 'set'; field: string; value: Json; base_version?: FieldVersion | undefined; force?: boolean | undefined }
  | { op: 'append'; field: string; value: Json; base_version?: FieldVersion | undefined; force?: boolean | undefined }
  | { op: 'delete'; field: string; base_version?: FieldVersion | undefined; force?: boolean | undefined };

/** The id of a context, as in the envelope. */
export const contextIdSchema = z
  .string()
  .min(1)
  .max(MAX_CONTEXT_ID)
  .regex(NO_CONTROL, 'must not contain control characters')
  .meta({ description: 'Any text but `.` and `..`.', example: 'ticket-4711' });

const fieldName = z
  .string()
  .min(1)
  .max(MAX_FIELD_NAME)
  .meta({ description: 'Any text but `__proto__`.', example: 'customer' });

const baseVersion = z.number().int().min(0).meta({
  description:
    'The version that was read; 0: the field must not exist. Set and delete need one; an append may name one.',
  example: 4711,
});

const force = z.boolean().meta({ description: 'Overwrite whatever there is.' });

const guarded = { field: fieldName, base_version: baseVersion.optional(), force: force.optional() };

/** zod would take an absent value for `undefined`, which it knows; JSON does not. */
const value = jsonValueSchema;

const setSchema = z.strictObject({ op: z.literal('set'), value, ...guarded });
const appendSchema = z.strictObject({ op: z.literal('append'), value, ...guarded });
const deleteSchema = z.strictObject({ op: z.literal('delete'), ...guarded });

/** One operation. An append needs no `base_version`, and then never conflicts; one that it names must hold. */
export const contextOperationSchema = z
  .discriminatedUnion('op', [setSchema, appendSchema, deleteSchema])
  .superRefine((operation, issues) => {
    if (operation.op !== 'delete' && operation.value === undefined)
      issues.addIssue({ code: 'custom', path: ['value'], message: 'is missing; any JSON value, null included' });
    if (operation.op !== 'append' && operation.base_version === undefined && operation.force !== true) {
      const message =
        'is missing; it must be the version that was read, 0 for a field that must not exist, or say force: true';
      issues.addIssue({ code: 'custom', path: ['base_version'], message });
    }
  })
  .meta({ id: 'ContextOperation' });

/** The body of `PATCH /v1/contexts/{id}`. */
export const contextPatchSchema = z
  .strictObject({ operations: z.array(contextOperationSchema).min(1).max(MAX_CONTEXT_OPERATIONS) })
  .meta({ id: 'ContextPatch' });

/** The query of `GET /v1/contexts/{id}`. */
export const contextQuerySchema = z.strictObject({
  fields: z
    .string()
    .min(1)
    .max(8_192)
    .optional()
    .meta({ description: 'Only these fields: names separated by commas, at most 100.', example: 'customer,log' }),
});

const version = z.number().int().meta({ description: 'Only grows.', example: 4711 });
const stamp = { version, updated_at: z.iso.datetime(), updated_by: z.string().meta({ example: 'api-key' }) };

/** The answer to GET. */
export const contextSchema = z
  .object({
    context_id: contextIdSchema,
    fields: z.record(z.string(), z.object({ value: jsonValueSchema, ...stamp })),
  })
  .meta({ id: 'Context' });

/** The answer to PATCH. */
export const contextPatchedSchema = z
  .object({
    context_id: contextIdSchema,
    fields: z.record(z.string(), z.object({ value: jsonValueSchema.optional(), ...stamp })).meta({
      description:
        'What was set, with its new version; values over 1 MiB, and lists that were appended to, without the value.',
    }),
    deleted: z.array(z.string()),
  })
  .meta({ id: 'ContextPatched' });

/** One entry of a conflict's `conflicts`. */
export const contextConflictSchema = z.object({
  field: z.string(),
  base_version: version,
  current_version: version.meta({ description: '0: the field does not exist.' }),
  current_value: jsonValueSchema,
  current_value_ref: z
    .object({ bytes: z.int(), href: z.string() })
    .optional()
    .meta({ description: 'In place of a value over 1 MiB: its size, and where to read it.' }),
});
