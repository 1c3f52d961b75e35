/**
 * Deliveries of the ends of reaches on the wire (R5): what is posted, and how each stands. The schemas validate requests and
 * are the source of the OpenAPI document.
 */
import { z } from 'zod';
import {
  callbackSchema,
  DELIVERY_STATES,
  deliveryErrorSchema,
  deliverySummarySchema,
  replyToSchema,
} from './callback-target';
import { reachStatusSchema } from './result';

/** A delivery never carries more than this much JSON; a larger result is replaced by a link to it. */
export const MAX_DELIVERY_BYTES = 262_144;
/** Deliveries of one page. */
const MAX_PAGE = 200;

const text = (max: number) => z.string().min(1).max(max);

const timestamp = z.string().meta({ format: 'date-time', example: '2026-05-04T08:30:00.000Z' });

/** One delivery of the end of one run of a reach. */
export const deliverySchema = z
  .object({
    id: deliverySummarySchema.shape.id,
    reach_id: z.string(),
    run_id: z.string().meta({ description: 'The run whose end is told; a redriven reach tells the end of each run.' }),
    to: z.union([callbackSchema, replyToSchema]),
    status: z.enum(DELIVERY_STATES),
    attempts: z.int().min(0),
    last_error: deliveryErrorSchema.optional(),
    next_attempt_at: timestamp.optional(),
    started_at: timestamp,
    ended_at: timestamp.optional(),
  })
  .meta({ id: 'CallbackDelivery' });
export type Delivery = z.infer<typeof deliverySchema>;

/** The query of `GET /v1/callbacks`. */
export const deliveryQuerySchema = z.strictObject({
  state: z.enum(DELIVERY_STATES).optional(),
  reach_id: text(64).optional(),
  cursor: z.base64url().max(4096).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(50),
});
export type DeliveryQuery = z.infer<typeof deliveryQuerySchema>;

/** 202 of `POST /v1/callbacks/{id}:redrive`. */
export const deliveryRedriveSchema = z
  .object({
    id: z.string(),
    status: z.enum(DELIVERY_STATES),
    replayed: z.boolean().meta({ description: 'It is under way, or was delivered, already; nothing was begun.' }),
  })
  .meta({ id: 'CallbackRedrive' });
export type DeliveryRedrive = z.infer<typeof deliveryRedriveSchema>;

/** `GET /v1/callbacks/secret`. */
export const callbackSecretSchema = z
  .object({
    source: z.enum(['generated', 'configured']),
    secret: z.string().optional().meta({ description: '`whsec_…`; only one that the platform made.' }),
  })
  .meta({ id: 'CallbackSecret' });
export type CallbackSecret = z.infer<typeof callbackSecretSchema>;

/** How a reach can end, as the type of what is posted. */
const ENDINGS = reachStatusSchema.exclude(['accepted', 'running']).options;
export type CallbackType = `reach.${(typeof ENDINGS)[number]}`;
const TYPES = ENDINGS.map((status) => `reach.${status}` as const) as [CallbackType, ...CallbackType[]];

/** What is posted to a callback URL (Standard Webhooks: `type`, `timestamp`, `data`). */
export const callbackEventSchema = z
  .object({
    type: z.enum(TYPES),
    timestamp: timestamp.meta({ description: 'When the reach ended.' }),
    data: z.looseObject({ reach_id: z.string(), status: reachStatusSchema }).meta({
      description: 'What `GET /v1/reaches/{id}` answers; over 256 KiB without what made it so large.',
    }),
  })
  .meta({ id: 'CallbackEvent' });
export type CallbackEvent = z.infer<typeof callbackEventSchema>;
