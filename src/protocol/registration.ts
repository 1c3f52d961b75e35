/** What instances of agents say of themselves (R13, R14), and what they are answered. */
import { z } from 'zod';
import * as limits from './limits';
import { normalizeVersion } from './versions';

const MAX_LEASE_TTL_SEC = 86_400;
const DIGITS = /^(0|[1-9]\d{0,39})$/;

/**
 * The epoch of a registration: digits, greater with each registration of an instance. Numbers are taken too,
 * as far as a double counts exactly; the output is always the string.
 */
export const epochSchema = z
  .union([
    z.string().regex(DIGITS, 'must be a string of digits'),
    z
      .number()
      .int()
      .min(0)
      .transform((epoch) => String(epoch)),
  ])
  .meta({ description: 'A string of digits; a number is accepted.', example: '42' });

/** `PUT /v1/agents/{name}/instances/{instance_id}`: each PUT is a new registration with a greater epoch. */
export const instanceRegistrationSchema = z.strictObject({
  version: z
    .string()
    .max(128)
    .refine((text) => normalizeVersion(text) !== null, 'must be a full semantic version such as 1.4.0')
    .overwrite((text) => normalizeVersion(text) ?? text)
    .meta({ description: 'A registered version of the agent.', example: '1.4.0' }),
  host: z.string().min(1).max(2048).nullable().optional().meta({
    description: 'URL that push adapters call; absent for agents that pull.',
    example: 'http://10.0.0.7:9000',
  }),
  ttl_sec: z.number().int().min(1).max(MAX_LEASE_TTL_SEC).default(limits.DEFAULT_LEASE_TTL_SEC),
  max_concurrency: z.number().int().min(1).max(100_000).nullable().optional(),
});

/** The answer to a registration. */
export const registrationAnswerSchema = z.object({
  lease_id: z.string(),
  epoch: z.string(),
  ttl_sec: z.number().int(),
  warnings: z.array(z.string()),
  worker: z
    .object({ address: z.string(), namespace: z.string(), task_queue: z.string() })
    .optional()
    .meta({ description: 'Where an agent that runs as an activity worker finds its work.' }),
});

/** `POST …/heartbeat`, every 3 s (R13). `renew` is said when little time is left. */
export const heartbeatSchema = z.strictObject({
  epoch: epochSchema,
  status: z.enum(['ready', 'busy', 'draining']),
  load: z.number().min(0).max(1_000).meta({ description: '0 idle, 1 full; more is overload.' }),
  in_flight: z.number().int().min(0).max(1_000_000).optional(),
  renew: z.boolean().optional(),
});

/** The answer to a heartbeat. */
export const heartbeatAnswerSchema = z.object({ remaining_sec: z.number() });
