/** Schemas of what the registry and the router show: agents, instances, abilities, decisions. See result.ts on their role. */
import { z } from 'zod';
import { descriptorSchema } from './descriptor';
import { MAX_SEARCH_BYTES } from './limits';
import { diagnosisSchema, errorCodeSchema, fieldErrorSchema } from './result';

const timestamp = z.string().meta({ format: 'date-time' });
const share = z.number().min(0).max(1);
const jsonSchema = z.union([z.record(z.string(), z.unknown()), z.boolean()]);
const percentile = z.number().min(0).nullable();

/** A descriptor as people write it; registered under this name in the OpenAPI document. */
export const descriptorDocument = descriptorSchema.meta({ id: 'Descriptor' });

const instanceStatus = z.enum(['ready', 'busy', 'draining', 'unavailable', 'expired']);

export const instanceSchema = z
  .object({
    instance_id: z.string(),
    host: z.string().nullable(),
    version: z.string(),
    status: instanceStatus,
    status_reason: z.string(),
    since: timestamp,
    load: z.number().min(0),
    in_flight: z.number().int().min(0),
    max_concurrency: z.number().int().nullable(),
    lease_remaining_sec: z.number().optional(),
    last_heartbeat: timestamp.optional(),
    health: z.enum(['unknown', 'passing', 'failing']),
    ejected_until: timestamp.optional(),
    full_by_count: z
      .literal(true)
      .optional()
      .meta({ description: 'Busy with calls of this platform alone: a call may queue for the next place.' }),
    source: z.enum(['static', 'lease']),
  })
  .meta({ id: 'Instance' });

export const abilityStatsSchema = z
  .object({
    requests: z.number().int().min(0),
    failures: z.number().int().min(0),
    evidence: z
      .object({ requests: z.number().min(0), failures: z.number().min(0) })
      .optional()
      .meta({ description: 'What these outcomes still weigh in the reliability: half after each half-life.' }),
    p50_ms: percentile,
    p95_ms: percentile,
    p99_ms: percentile,
    in_flight: z.number().int().min(0),
  })
  .meta({ id: 'AbilityStats' });

/** The circuit breaker of one ability of one version (R28). */
export const breakerSchema = z
  .object({
    state: z.enum(['closed', 'bypass', 'open', 'half_open', 'recovering']),
    since: timestamp,
    error_rate: share,
    requests: z.number().int().min(0),
    share: share.meta({ description: 'Share of the traffic that passes.' }),
    reason: z.string().optional(),
    override: z
      .object({
        state: z.enum(['open', 'closed']),
        reason: z.string(),
        by: z.string(),
        set_at: timestamp,
        expires_at: timestamp.nullable(),
      })
      .optional(),
  })
  .meta({ id: 'Breaker' });

/** `GET /v1/agents/{name}`: everything known. */
export const agentSchema = z
  .object({
    name: z.string(),
    versions: z.array(z.object({ version: z.string(), descriptor: descriptorDocument, registered_at: timestamp })),
    instances: z.array(instanceSchema),
    abilities: z.array(
      z.object({
        name: z.string(),
        agent_version: z.string(),
        description: z.string(),
        breaker: breakerSchema,
        stats: abilityStatsSchema.nullable(),
      }),
    ),
    stats: z.object({
      p50_ms: percentile,
      p95_ms: percentile,
      p99_ms: percentile,
      failure_rate: share.nullable(),
      in_flight: z.number().int(),
      queue_depth: z.number().int().min(0).meta({ description: 'Reaches that wait for it, in all processes.' }),
      requests: z.number().int(),
    }),
    status: instanceStatus,
  })
  .meta({ id: 'Agent' });

/** The answer to registering a descriptor. */
export const agentRegistrationSchema = z
  .object({
    name: z.string(),
    version: z.string(),
    outcome: z.string().meta({ description: 'Whether anything changed.', example: 'created' }),
    dry_run: z.boolean(),
    registered_at: timestamp,
    warnings: z.array(z.string()),
  })
  .meta({ id: 'AgentRegistration' });

/** One ability of the catalogue and who offers it. */
export const abilitySchema = z
  .object({
    name: z.string(),
    description: z.string(),
    agents: z.array(
      z.object({
        agent_name: z.string(),
        agent_version: z.string(),
        status: instanceStatus,
        description: z.string(),
        input_schema: jsonSchema.optional().meta({ description: 'Only where one ability is asked for.' }),
        output_schema: jsonSchema.optional(),
      }),
    ),
  })
  .meta({ id: 'Ability' });

/** `POST /v1/abilities:search`. */
export const abilitySearchSchema = z
  .strictObject({
    query: z
      .string()
      .refine((text) => text.trim() !== '', 'must not be blank')
      .meta({ description: `At most ${MAX_SEARCH_BYTES} bytes.`, example: '我的退款什么时候到账' }),
    limit: z.number().int().min(1).max(100).default(10),
  })
  .meta({ id: 'AbilitySearch' });

export const candidateSchema = z
  .object({
    agent_name: z.string(),
    agent_version: z.string(),
    ability: z.string(),
    score: z.number(),
    cosine: z
      .number()
      .nullable()
      .meta({ description: 'Raw similarity before calibration; null when no text was compared.' }),
    factors: z.object({ semantic_similarity: share, latency_score: share, reliability_score: share }),
    instances: z.array(z.object({ instance_id: z.string(), weight: z.number() })),
  })
  .meta({ id: 'Candidate' });

export const exclusionSchema = z
  .object({ agent_name: z.string(), agent_version: z.string(), reason: z.string() })
  .meta({ id: 'Exclusion' });

const strategy = z.enum(['score_based', 'round_robin', 'random', 'rule', 'direct', 'fallback']);

const decided = {
  decision_id: z.string(),
  ability: z.string(),
  confidence: share,
  explored: z.boolean(),
  candidates: z.array(candidateSchema),
  excluded: z.array(exclusionSchema),
  excluded_count: z.number().int().min(0),
  route_reason: z.string(),
};

const explorationSchema = z
  .object({
    draw: z.number().min(0).lt(1).meta({ description: 'The one random number of the choice.' }),
    among: z.number().int().min(0).meta({ description: 'Others near to the winner that might be tried.' }),
  })
  .meta({ id: 'Exploration', description: 'What chance did in a scored choice (R17).' });

const versioningSchema = z
  .object({
    group: z.string(),
    key_hash: z.string().optional().meta({ description: 'Of the sticky key; absent where chance decided.' }),
    draw: z.number().min(0).lt(1).optional().meta({ description: 'What chance said.' }),
    table_etag: z.string().optional(),
    listed: z.array(z.object({ version: z.string(), weight: z.number().int().min(0) })),
    candidates: z
      .array(z.object({ version: z.string(), usable: z.boolean() }))
      .optional()
      .meta({ description: 'Versions that fit, oldest registration first.' }),
    stable: z.string().optional(),
    ranged: z.literal(true).optional(),
    share: share.meta({ description: 'Of this version among those that were usable.' }),
    reason: z.string().meta({ description: '`listed`, `stable`, `unlisted`, `highest` or `fallback`.' }),
    instead_of: z.string().optional(),
  })
  .meta({ id: 'Versioning', description: 'How a version was chosen (R21).' });

/** The record of one routing decision (R23). */
export const decisionSchema = z
  .object({
    ...decided,
    at: timestamp,
    reach_id: z.string().optional(),
    version: z.string().optional(),
    group: z.string(),
    strategy,
    exploration: explorationSchema.optional(),
    versioning: versioningSchema.optional(),
    chosen: z.object({
      agent_name: z.string(),
      agent_version: z.string(),
      ability: z.string(),
      instance: z.string().optional(),
      score: z.number(),
      admission: z
        .enum(['bypass', 'probe', 'recovery'])
        .optional()
        .meta({ description: 'Passed a breaker that is not closed.' }),
    }),
  })
  .meta({ id: 'Decision' });

/** `POST /v1/route`: who would get an envelope, and why; nothing is sent. */
export const routeExplanationSchema = z
  .object({
    ...decided,
    agent_name: z
      .string()
      .nullable()
      .meta({ description: 'Null when nobody fits; then `code` and `diagnosis` say why.' }),
    agent_version: z.string().nullable(),
    strategy: strategy.nullable(),
    versioning: versioningSchema.optional(),
    weights: z.object({ semantic_similarity: share, latency_score: share, reliability_score: share }),
    code: errorCodeSchema.optional(),
    diagnosis: diagnosisSchema.optional(),
    errors: z.array(fieldErrorSchema).optional(),
  })
  .meta({ id: 'RouteExplanation' });
