/**
 * What an agent and a deduplication store say to each other (R4, R7): types that every store speaks, and the bodies of
 * `POST /v1/agents/{name}/deduplication:begin` and `:complete`, by which the platform's own store is reached.
 */
import { z } from 'zod';
import { jsonObjectSchema } from './envelope';
import type { JsonObject } from './shapes';

/** Shortest and default time that a result is kept, ms: 24 h (R7). */
export const MIN_DEDUPLICATION_TTL_MS = 86_400_000;
/** Longest time that the platform's store keeps a result, ms: 30 days. */
export const MAX_DEDUPLICATION_TTL_MS = 2_592_000_000;
/** Largest output that is kept in etcd, bytes of compact JSON: what etcd holds is in every member's memory. */
export const MAX_ETCD_OUTPUT_BYTES = 262_144;

/** A delivery that begins. */
export interface DeduplicationBegin {
  /** The business key, hashed: 64 hex digits. */
  key: string;
  /** Claims the key under this fence (19 digits, compared as text); null only looks. */
  fence: string | null;
  /** How long a claim is kept at least, ms. */
  ttlMs: number;
}

/** A delivery that succeeded. */
export interface DeduplicationComplete {
  key: string;
  fence: string;
  output: JsonObject;
  /** How long the output is kept at least, ms. */
  ttlMs: number;
}

/**
 * `free`: nothing is recorded, go on; the claim, if one was asked for, is held. `done`: this was the result.
 * `superseded`: a greater fence holds the claim.
 */
export type DeduplicationBeginAnswer =
  { status: 'free' } | { status: 'done'; output: JsonObject } | { status: 'superseded' };

/**
 * `recorded`: this output is the one result of its key. `superseded`: it is not and will not be; `output` is the one that
 * is, null when a greater fence holds the claim and has not finished.
 */
export type DeduplicationCompleteAnswer = { status: 'recorded' } | { status: 'superseded'; output: JsonObject | null };

const keySchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits, the SHA-256 of the business key')
  .meta({ example: 'f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2' });

/** A fence begins with the time of its run; one beyond every clock's error would shut all later attempts out. */
function isPlausible(fence: string): boolean {
  return Number(fence.slice(0, 13)) < new Date().getTime() + FENCE_TOLERANCE_MS;
}

/** A day. */
const FENCE_TOLERANCE_MS = 86_400_000;

const fenceSchema = z
  .string()
  .regex(/^\d{19}$/, 'must be 19 digits, the `fence` of the call')
  .refine(isPlausible, 'must be the `fence` of the call: this one would be of the far future')
  .meta({ description: 'The `fence` of the call, compared as text.', example: '1767225600000000001' });

const ttlSchema = z
  .number()
  .int()
  .min(MIN_DEDUPLICATION_TTL_MS)
  .max(MAX_DEDUPLICATION_TTL_MS)
  .default(MIN_DEDUPLICATION_TTL_MS)
  .meta({ description: 'Kept at least this long, ms.' });

/** `POST /v1/agents/{name}/deduplication:begin`. */
export const deduplicationBeginSchema = z.strictObject({
  key: keySchema,
  fence: fenceSchema.nullable().default(null),
  ttl_ms: ttlSchema,
});

/** `POST /v1/agents/{name}/deduplication:complete`. */
export const deduplicationCompleteSchema = z.strictObject({
  key: keySchema,
  fence: fenceSchema,
  output: jsonObjectSchema.meta({ description: `At most ${MAX_ETCD_OUTPUT_BYTES} bytes as compact JSON.` }),
  ttl_ms: ttlSchema,
});

/** The answer to `deduplication:begin`. */
export const deduplicationBeginAnswerSchema = z
  .discriminatedUnion('status', [
    z.object({ status: z.literal('free') }),
    z.object({ status: z.literal('done'), output: jsonObjectSchema }),
    z.object({ status: z.literal('superseded') }),
  ])
  .meta({ id: 'DeduplicationBeginAnswer' });

/** The answer to `deduplication:complete`. */
export const deduplicationCompleteAnswerSchema = z
  .discriminatedUnion('status', [
    z.object({ status: z.literal('recorded') }),
    z.object({ status: z.literal('superseded'), output: jsonObjectSchema.nullable() }),
  ])
  .meta({ id: 'DeduplicationCompleteAnswer' });
