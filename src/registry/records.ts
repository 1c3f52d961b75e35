/**
 * The values kept in etcd: JSON with a schema version, so that processes of two releases can share a cluster.
 * Unknown fields are tolerated; a value that does not fit is null for the reader, who logs and skips it.
 */
import { z } from 'zod';
import type { Descriptor } from '../protocol/descriptor';

const SCHEMA_VERSION = 1;
const versionTag = z.literal(SCHEMA_VERSION);

/**
 * Just enough of a descriptor to be safe to use. The strict schema has judged it when it was registered; judging
 * again would make every descriptor of a newer release unreadable.
 */
const storedDescriptorSchema = z.looseObject({
  name: z.string(),
  version: z.string(),
  compatible_versions: z.array(z.string()).default([]),
  accepted_message_types: z.array(z.string()).default(['task']),
  capabilities: z
    .array(
      z.looseObject({
        name: z.string(),
        description: z.string().default(''),
        examples: z.array(z.string()).default([]),
      }),
    )
    .min(1),
  endpoint: z
    .looseObject({ protocol: z.string(), address: z.union([z.string(), z.array(z.string())]).optional() })
    .optional(),
  auth: z.looseObject({ type: z.string() }).default({ type: 'none' }),
  health_check: z
    .looseObject({
      interval_sec: z.number().positive(),
      timeout_sec: z.number().positive(),
      path: z.string().optional(),
    })
    .optional(),
});

const agentSchema = z.object({
  v: versionTag,
  descriptor: storedDescriptorSchema.transform((stored) => stored as unknown as Descriptor),
  registered_at: z.string(),
  /** Where other content has taken its place since: what is new is told by it (R21). */
  first_registered_at: z.string().optional(),
});

const namesSchema = z.object({ v: versionTag, abilities: z.array(z.string()) });

const instanceSchema = z.object({
  v: versionTag,
  version: z.string(),
  host: z.string().nullable(),
  ttl_sec: z.number(),
  max_concurrency: z.number().nullable(),
  registered_at: z.string(),
});

const beatSchema = z.object({
  v: versionTag,
  status: z.enum(['ready', 'busy', 'draining']),
  load: z.number(),
  in_flight: z.number(),
  since: z.string(),
  last_heartbeat: z.string(),
});

const healthSchema = z.object({
  v: versionTag,
  state: z.enum(['passing', 'failing']),
  since: z.string(),
  reason: z.string(),
  target: z.string(),
});

const goneSchema = z.object({
  v: versionTag,
  version: z.string(),
  host: z.string().nullable(),
  cause: z.enum(['expired', 'deregistered']),
  last_status: z.string(),
  at: z.string(),
});

type Body<Schema extends z.ZodType> = Omit<z.infer<Schema>, 'v'>;

/** One version of an agent, as registered. */
export type AgentRecord = Body<typeof agentSchema>;
/** A registration of an instance; its key's mod revision is the epoch. Never rewritten, only replaced by the next. */
export type InstanceRecord = Body<typeof instanceSchema>;
/** The last heartbeat. `since`: how long it has been ready, busy or draining, whichever it is (R14). */
export type BeatRecord = Body<typeof beatSchema>;
/** What probing found; only for the registration or address named by `target`. */
export type HealthRecord = Body<typeof healthSchema>;
/** An instance that is no more, kept for a while so that a diagnosis can name it (R22). */
export type GoneRecord = Body<typeof goneSchema>;

/** Serialises a record with its schema version. */
export function encodeRecord(body: object): string {
  return JSON.stringify({ v: SCHEMA_VERSION, ...body });
}

const reader =
  <Schema extends z.ZodType>(schema: Schema) =>
  (value: Buffer): Body<Schema> | null => {
    try {
      const result = schema.safeParse(JSON.parse(value.toString('utf8')));
      return result.success ? result.data : null;
    } catch {
      return null;
    }
  };

/** Readers by kind; each answers null for a value that does not fit. */
export const readRecord = {
  agent: reader(agentSchema),
  names: reader(namesSchema),
  instance: reader(instanceSchema),
  beat: reader(beatSchema),
  health: reader(healthSchema),
  gone: reader(goneSchema),
};
