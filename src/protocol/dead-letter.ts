/**
 * Dead letters (R31) on the wire: what may be asked, and what is answered. A dead letter is a reach whose last run failed,
 * timed out or was terminated. The schemas validate requests and are the source of the OpenAPI document.
 */
import { z } from 'zod';
import { jsonObjectSchema, NO_CONTROL } from './envelope';
import { attemptSchema, errorCodeSchema, linksSchema, reachStatusSchema } from './result';
import { ERROR_CODES, ERROR_TABLE } from './error-codes';

/** How a reach ended that is a dead letter. */
export const DEAD_STATUSES = ['dead_lettered', 'expired', 'outcome_unknown'] as const;
/** `open`: waits for somebody; `redriven`: it got a newer run; `discarded`: somebody decided against it. */
export const DEAD_LETTER_STATES = ['open', 'redriven', 'discarded'] as const;
/** Most dead letters that one bulk request looks at. */
export const MAX_BULK_REDRIVES = 1_000;
export const DEFAULT_BULK_REDRIVES = 100;
const MAX_PAGE = 200;

const text = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}]*$/u, 'control characters are not allowed');
const instant = z.iso.datetime({ offset: true });
const by = text.meta({ description: 'Who decided, for the record. Default: the principal.' });
const acceptRepeat = z.boolean().default(false).meta({
  description: 'Also send again what may be sent only once and may have been done already (`at_most_once`).',
});

const filterFields = {
  status: z.enum(DEAD_STATUSES).optional(),
  code: z.enum(ERROR_CODES).optional(),
  ability: text.optional(),
  agent: text.optional().meta({ description: '`name` or `name#version`.' }),
  source: text.optional(),
  since: instant.optional().meta({ description: 'Failed at this time or later.' }),
  until: instant.optional().meta({ description: 'Failed before this time.' }),
};

/** Which dead letters; what is absent does not matter. */
export const deadLetterFilterSchema = z.strictObject(filterFields).meta({ id: 'DeadLetterFilter' });
export type DeadLetterFilter = z.infer<typeof deadLetterFilterSchema>;

/** The query of `GET /v1/dead-letters`. */
export const deadLetterQuerySchema = z.strictObject({
  state: z.enum(DEAD_LETTER_STATES).default('open'),
  ...filterFields,
  cursor: z.base64url().max(4096).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(50),
});
export type DeadLetterQuery = z.infer<typeof deadLetterQuerySchema>;

/** The body of `POST /v1/dead-letters/{reach_id}:redrive`; it may be absent. */
export const redriveRequestSchema = z
  .strictObject({
    by: by.optional(),
    accept_repeat: acceptRepeat,
    run_id: z.uuid().optional().meta({
      description:
        'The failed run as it was read. With it a late repeat of the request answers the first redrive, even when the reach has failed again since. Default: the last failed run.',
    }),
  })
  .meta({ id: 'RedriveRequest' });

/** The body of `POST /v1/dead-letters:redrive`. All of them must be said: `{"filter":{}}`. */
export const bulkRedriveRequestSchema = z
  .strictObject({
    filter: deadLetterFilterSchema,
    limit: z.number().int().min(1).max(MAX_BULK_REDRIVES).default(DEFAULT_BULK_REDRIVES),
    dry_run: z.boolean().default(false),
    accept_repeat: acceptRepeat,
    by: by.optional(),
  })
  .meta({ id: 'BulkRedriveRequest' });
export type BulkRedriveRequest = z.infer<typeof bulkRedriveRequestSchema>;

/** The body of `POST /v1/dead-letters/{reach_id}:discard`. */
export const discardRequestSchema = z
  .strictObject({
    reason: z.string().trim().min(1).max(500).regex(NO_CONTROL, 'must not contain control characters'),
    by: by.optional(),
  })
  .meta({ id: 'DiscardRequest' });

const timestamp = z.string().meta({ format: 'date-time', example: '2026-05-04T08:30:00.000Z' });
const runId = z.string().meta({ description: 'A Temporal run of the reach.' });

const redriveSchema = z.object({
  run_id: runId.meta({ description: 'The new run.' }),
  redriven_run_id: runId.meta({ description: 'The failed run it replaced.' }),
  at: timestamp,
  by: z.string(),
});

const discardSchema = z.object({ reason: z.string(), by: z.string(), at: timestamp });

const itemFields = {
  reach_id: z.string(),
  run_id: runId.meta({ description: 'The failed run.' }),
  state: z.enum(DEAD_LETTER_STATES),
  status: z.enum(DEAD_STATUSES),
  ability: z.string(),
  agent_name: z.string(),
  agent_version: z.string(),
  source_agent: z.string(),
  failed_at: timestamp,
  expires_at: timestamp.meta({ description: 'When the retention of the namespace takes it.' }),
  error: z.object({
    code: errorCodeSchema,
    message: z.string(),
    class: z.enum([...new Set(Object.values(ERROR_TABLE).map((row) => row.class))]),
  }),
  attempts: z.array(attemptSchema).meta({ description: 'Of this run.' }),
  decision_id: z.string(),
  redrives: z.array(redriveSchema).meta({ description: 'Oldest first.' }),
  discard: discardSchema.optional(),
};

/** One row of `GET /v1/dead-letters`. */
export const deadLetterItemSchema = z.object(itemFields).meta({ id: 'DeadLetterItem' });
export type DeadLetterItem = z.infer<typeof deadLetterItemSchema>;
export type DeadLetterStatus = DeadLetterItem['status'];
export type DeadLetterState = DeadLetterItem['state'];
export type Redrive = z.infer<typeof redriveSchema>;

/** `GET /v1/dead-letters/{reach_id}`: the whole story. */
export const deadLetterSchema = z
  .object({
    ...itemFields,
    envelope: jsonObjectSchema.meta({ description: 'As it was accepted, with the payload.' }),
    decision: jsonObjectSchema.meta({ description: 'The routing decision the run began with.' }),
    attempts_before: z.number().int().min(0).meta({ description: 'Attempts of the earlier failed runs.' }),
    needs_accept_repeat: z.boolean().meta({
      description: 'It may be sent only once, and the work may have been done: a redrive must accept that.',
    }),
    current_run: z.object({ run_id: runId, status: reachStatusSchema }),
    links: linksSchema,
  })
  .meta({ id: 'DeadLetter' });
export type DeadLetter = z.infer<typeof deadLetterSchema>;

/** 202 of a redrive. */
export const redriveReceiptSchema = z
  .object({
    reach_id: z.string(),
    run_id: runId.meta({ description: 'The new run.' }),
    redriven_run_id: runId.meta({ description: 'The failed run.' }),
    at: timestamp,
    replayed: z.boolean().meta({ description: 'It had been redriven before; nothing was sent by this request.' }),
    links: linksSchema,
  })
  .meta({ id: 'RedriveReceipt' });
export type RedriveReceipt = z.infer<typeof redriveReceiptSchema>;

const pairSchema = z.object({ reach_id: z.string(), run_id: runId });

/** What a bulk redrive did. */
export const bulkRedriveResultSchema = z
  .object({
    matched: z.number().int(),
    redriven: z.array(pairSchema).meta({ description: 'With the new run.' }),
    skipped: z.array(z.object({ reach_id: z.string(), reason: z.string() })),
    failed: z.array(z.object({ reach_id: z.string(), code: errorCodeSchema, message: z.string() })),
    would_redrive: z.array(pairSchema).optional().meta({
      description: 'With `dry_run`: the failed runs. What a redrive would skip is in `skipped`.',
    }),
  })
  .meta({ id: 'BulkRedriveResult' });
export type BulkRedriveResult = z.infer<typeof bulkRedriveResultSchema>;

/** 200 of a discard. */
export const discardReceiptSchema = z
  .object({
    reach_id: z.string(),
    run_id: runId,
    state: z.literal('discarded'),
    ...discardSchema.shape,
    replayed: z.boolean(),
  })
  .meta({ id: 'DiscardReceipt' });
export type DiscardReceipt = z.infer<typeof discardReceiptSchema>;
