/** Where the end of a reach is sent (R5): the envelope's `callback` and `reply_to`, and how that stands. */
import { z } from 'zod';
import { topicSchema } from './topics';

/** As in `envelope.ts`, which imports this file. */
const NO_CONTROL = /^[^\u0000-\u001f\u007f]*$/;
const text = (max: number) => z.string().min(1).max(max).regex(NO_CONTROL, 'must not contain control characters');

/**
 * Ids of workflows that the platform itself starts: reaches, deliveries and publications, and those of Temporal's own system
 * workers. A signal of a caller's choice to one of them could pass for an agent's result.
 */
const PLATFORM_WORKFLOW = /^([re]-[a-z2-7]{32}$|cb-[a-z2-7]{32}-|temporal-sys-)/;

/** What is no URL at all is the egress policy's to refuse. */
const hasPortZero = (url: string): boolean => URL.canParse(url) && new URL(url).port === '0';

/** A URL that the end of the reach is posted to. Which addresses may be called is the egress policy's to say. */
export const callbackSchema = z
  .strictObject({
    url: text(2_048)
      .refine(
        (url) => !hasPortZero(url),
        'must not have port 0, at which nobody can listen; name the port of the receiver',
      )
      .meta({
        description: 'http or https, without credentials.',
        example: 'https://shop.example/hooks',
      }),
  })
  .meta({ id: 'Callback' });

const signalTarget = z.strictObject({
  workflow_id: text(512)
    .refine((id) => !PLATFORM_WORKFLOW.test(id), "must be a workflow of your own, not one of the platform's")
    .meta({ description: 'A workflow of the same namespace.', example: 'order-42' }),
  signal: text(128)
    .refine((name) => !name.startsWith('__'), 'must not begin with __, which Temporal keeps for itself')
    .meta({ example: 'answered' }),
});

const topicTarget = z.strictObject({ topic: topicSchema });

/** Who else gets the end of the reach: a workflow as a signal, or the subscribers of a topic. */
export const replyToSchema = z.union([signalTarget, topicTarget]).meta({ id: 'ReplyTo' });

export type Callback = z.infer<typeof callbackSchema>;
export type ReplyTo = z.infer<typeof replyToSchema>;
/** Whom one delivery goes to. */
export type DeliveryTarget = Callback | ReplyTo;

/** `pending`: not there yet, tried again; `failed`: given up, for a person to redrive. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Why an attempt failed. Never what the receiver said: it may be somebody else's secret. */
export const deliveryErrorSchema = z.object({
  message: z.string(),
  http_status: z.int().optional().meta({ description: 'What the receiver answered, where it answered.' }),
});

/** How the delivery of a reach's end stands, as `GET /v1/reaches/{id}` shows it. */
export const deliverySummarySchema = z.object({
  id: z.string().meta({ description: 'Also the `webhook-id`: the same for every attempt.' }),
  status: z.enum([...DELIVERY_STATES, 'not_started']),
  attempts: z.int().min(0),
  last_error: deliveryErrorSchema.optional(),
});
export type DeliverySummary = z.infer<typeof deliverySummarySchema>;
export type DeliveryError = z.infer<typeof deliveryErrorSchema>;
