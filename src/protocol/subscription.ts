/** Subscriptions on the wire: who gets the events of which topics (R3). */
import { z } from 'zod';
import { parseTargetAgent } from './envelope';
import { eventFilterSchema, unmatchable } from './event-filter';
import { topicPatternSchema } from './topics';

/** Ids of subscriptions, chosen by whoever makes them. */
export const SUBSCRIPTION_ID = /^[A-Za-z0-9._-]{1,64}$/;

const noControl = /^[^\p{Cc}]*$/u;

/** The body of `PUT /v1/subscriptions/{id}`. */
export const subscriptionBodySchema = z
  .strictObject({
    topic: topicPatternSchema,
    agent: z
      .string()
      .min(1)
      .max(128)
      .refine((target) => parseTargetAgent(target) !== null, 'must be a name, or name#version with a full version')
      .optional()
      .meta({ description: '`name` or `name#version`.', example: 'audit_agent' }),
    ability: z
      .string()
      .min(1)
      .max(256)
      .regex(noControl, 'must not contain control characters')
      .optional()
      .meta({ description: 'Whoever is the best agent for this ability at that moment.', example: 'record_order' }),
    filter: eventFilterSchema.optional(),
    type: z.string().min(1).max(64).regex(noControl, 'must not contain control characters').optional().meta({
      description:
        "Message type of the deliveries. Default: the first that the subscriber accepts of the event's own type, `event` and `task`.",
      example: 'event',
    }),
  })
  .refine(({ agent, ability }) => agent !== undefined || ability !== undefined, {
    path: ['agent'],
    message: 'is missing; name an agent, an ability, or both',
    when: ({ value }) => typeof value === 'object' && value !== null,
  })
  // Not a rule of the filter itself: what an earlier release took is still read.
  .superRefine(({ filter = {} }, context) => {
    const message = 'is nothing that events are filtered by, so none would ever come; leave it out';
    for (const path of unmatchable(filter)) context.addIssue({ code: 'custom', path: ['filter', ...path], message });
  })
  .meta({ id: 'SubscriptionDraft' });

/** What a subscription says. */
export type SubscriptionBody = z.infer<typeof subscriptionBodySchema>;

/** A subscription as it is answered. */
export const subscriptionSchema = z
  .object({
    id: z.string().regex(SUBSCRIPTION_ID).meta({ example: 'audit-orders' }),
    ...subscriptionBodySchema.shape,
    created_at: z.string().meta({ format: 'date-time', example: '2026-05-04T08:30:00.000Z' }),
  })
  .meta({ id: 'Subscription' });

export type Subscription = z.infer<typeof subscriptionSchema>;

/** The query of `GET /v1/subscriptions`. */
export const subscriptionQuerySchema = z.strictObject({
  topic: z.string().min(1).max(200).optional().meta({ description: 'Only those that would get events of this topic.' }),
  agent: z.string().min(1).max(128).optional(),
  ability: z.string().min(1).max(256).optional(),
  cursor: z.base64url().max(256).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export type SubscriptionQuery = z.infer<typeof subscriptionQuerySchema>;
