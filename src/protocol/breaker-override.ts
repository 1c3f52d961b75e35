/** Circuit breakers on the wire (R28): what is listed, and an operator's word over one. */
import { z } from 'zod';
import { breakerSchema } from './agent-schemas';
import { NO_CONTROL } from './envelope';
import type { BreakerView } from './reliability';
import { normalizeVersion } from './versions';

/** A week: who wants it longer means until it is taken back. */
export const MAX_OVERRIDE_SEC = 604_800;

const version = z
  .string()
  .max(128)
  .refine((text) => normalizeVersion(text) !== null, 'must be a full semantic version such as 1.4.0')
  .overwrite((text) => normalizeVersion(text) ?? text)
  .meta({ description: 'Default: every registered version that has the ability.', example: '1.4.0' });

/** `PUT /v1/agents/{name}/abilities/{ability}/breaker`. */
export const breakerOverrideSchema = z
  .strictObject({
    state: z.enum(['open', 'closed']).meta({ description: 'open: nothing passes; closed: everything does.' }),
    reason: z
      .string()
      .max(500)
      .regex(NO_CONTROL, 'must not contain control characters')
      .refine((text) => text.trim() !== '', 'must not be blank')
      .meta({ description: 'Told to whoever is refused.', example: 'the bank is in maintenance' }),
    expires_in_sec: z
      .number()
      .int()
      .min(1)
      .max(MAX_OVERRIDE_SEC)
      .nullable()
      .optional()
      .meta({ description: 'Null or absent: until it is taken back.', example: 600 }),
    version: version.optional(),
  })
  .meta({ id: 'BreakerOverride' });

/** An override as it is asked for. */
export type BreakerOverrideRequest = z.output<typeof breakerOverrideSchema>;

/** The query of `DELETE /v1/agents/{name}/abilities/{ability}/breaker`. */
export const breakerReleaseQuery = z.strictObject({ version: version.optional() });

/** The query of `GET /v1/breakers`. */
export const breakerListQuery = z.strictObject({
  all: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'Every registered ability; default: those that are not closed, or held by an operator.' }),
});

/** One breaker and whose it is. */
export const breakerItemSchema = breakerSchema
  .extend({ agent_name: z.string(), agent_version: z.string(), ability: z.string() })
  .meta({ id: 'BreakerItem' });

/** One breaker and whose it is, as it is listed. */
export interface BreakerItem extends BreakerView {
  agent_name: string;
  agent_version: string;
  ability: string;
}
