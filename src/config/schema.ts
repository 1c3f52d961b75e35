import { z } from 'zod';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../protocol/payload-ref';
import { DEFAULT_MAX_DEPTH } from '../protocol/lineage';

/** `15s`, `250ms`, `2m`, `1h`, or a number of milliseconds. */
const duration = z
  .union([z.number().int().min(0), z.string().regex(/^\d+(\.\d+)?(ms|s|m|h)$/, 'a duration such as 250ms, 15s or 2m')])
  .transform((value) => {
    if (typeof value === 'number') return value;
    const unit = /[a-z]+$/.exec(value)?.[0] as keyof typeof UNIT_MS;
    return Math.round(Number.parseFloat(value) * UNIT_MS[unit]);
  });
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

const share = z.number().min(0).max(1);
const port = z.number().int().min(0).max(65_535);
const strategy = z.enum(['score_based', 'round_robin', 'random']);
const factor = z.enum(['semantic_similarity', 'latency_score', 'reliability_score']);

/** Weights of a score: none negative, and at least one above zero, or every candidate would score the same. */
const weights = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape).refine((value) => Object.values(value as Record<string, number>).some((weight) => weight > 0), {
    message: 'at least one weight must be above 0',
  });

const rule = z.strictObject({
  ability: z.string().optional(),
  group: z.string().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  payload: z.strictObject({ pointer: z.string().startsWith('/'), equals: z.json() }).optional(),
  agent: z.string().regex(/^[a-z0-9_-]{1,64}(#.+)?$/, 'an agent name, or name#version'),
});

const routeEntry = z.strictObject({
  ability: z.string().min(1),
  from: z.string().min(1),
  to: z.string().regex(/^[a-z0-9_-]{1,64}#.+$/, 'agent#version'),
  weight: z.number().int().min(0),
});

const section = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).prefault({} as never);

interface BreakerSettings {
  trip_failures: number;
  trip_window: number;
  recovery_steps: number[];
}

/** What single settings cannot say: a breaker that could never trip, or whose recovery goes backwards. */
function breakerRules(breaker: BreakerSettings, context: z.RefinementCtx): void {
  const { trip_failures, trip_window, recovery_steps } = breaker;
  if (trip_failures > trip_window) {
    const message = `must be at most trip_window (${trip_window}), or the breaker could never trip`;
    context.addIssue({ code: 'custom', path: ['trip_failures'], message });
  }
  if (recovery_steps.some((step, i) => i > 0 && step <= recovery_steps[i - 1]!)) {
    const message = 'must grow from step to step, such as [0.1, 0.25, 0.5]';
    context.addIssue({ code: 'custom', path: ['recovery_steps'], message });
  }
}

/** A secret before none, and times of nothing, are mistakes. */
function callbackRules(
  callbacks: { secret_env?: string; previous_secret_env?: string; timeout: number; max_age: number },
  context: z.RefinementCtx,
): void {
  const mistake = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
  if (callbacks.previous_secret_env !== undefined && callbacks.secret_env === undefined)
    mistake('previous_secret_env', 'needs secret_env beside it');
  if (callbacks.timeout < 1) mistake('timeout', 'must be at least 1 ms');
  if (callbacks.max_age < callbacks.timeout) mistake('max_age', 'must not be shorter than timeout');
}

/** A bucket has no default. */
function payloadStoreRules(store: { type: string; bucket?: string }, context: z.RefinementCtx): void {
  if (store.type === 's3' && store.bucket === undefined)
    context.addIssue({ code: 'custom', path: ['bucket'], message: 'is missing; type s3 needs one' });
}

/** The whole configuration, as written in `agent-reach.yaml`. Unknown keys are refused by name. */
export const configSchema = z.strictObject({
  server: section({
    host: z.string().default('127.0.0.1'),
    port: port.default(8080),
    graceful_timeout: duration.default(15_000),
    public_url: z.url().optional().meta({ description: 'How callers reach this gateway; used in links.' }),
  }),
  temporal: section({
    address: z.string().default('127.0.0.1:7233'),
    namespace: z.string().default('default'),
    task_queue: z.string().min(1).default('agent-reach'),
    api_key_env: z.string().optional(),
    tls: z.boolean().default(false),
    ui_url: z.url().optional(),
    agents_address: z
      .string()
      .optional()
      .meta({ description: 'Address of Temporal told to agents that run as activity workers.' }),
  }),
  registry: section({
    etcd: z.array(z.string()).min(1).default(['127.0.0.1:2379']),
    key_prefix: z.string().startsWith('/').default('/agent-reach'),
    refresh_interval: duration.default(10_000),
    health_threshold: share.default(0.3),
    strict_names: z
      .boolean()
      .default(false)
      .meta({ description: 'Refuse ability names that are near a known one, instead of warning.' }),
  }),
  router: section({
    default_strategy: strategy.default('score_based'),
    fallback_strategy: strategy.default('round_robin'),
    enabled_factors: z.array(factor).min(1).default(['semantic_similarity', 'latency_score', 'reliability_score']),
    weights: weights({
      semantic_similarity: share.default(0.6),
      latency_score: share.default(0.2),
      reliability_score: share.default(0.2),
    }).prefault({}),
    instance_weights: weights({
      load: share.default(0.5),
      latency: share.default(0.3),
      reliability: share.default(0.2),
    }).prefault({}),
    rules: z.array(rule).max(1000).default([]),
    exploration: section({ rate: share.default(0.1), band: share.default(0.05) }),
  }),
  embeddings: section({
    url: z.url().optional().meta({
      description:
        'OpenAI-compatible base URL, such as http://127.0.0.1:8009/v1; without it routing by meaning is lexical.',
    }),
    model: z.string().default('multilingual-e5-small'),
    api_key_env: z.string().optional(),
    timeout: duration.default(1_500),
    cache_file: z.string().optional(),
    input_type: z.enum(['query', 'none']).default('query'),
  }),
  adapter: section({
    protocol_timeout_ms: z.number().int().min(1).max(86_400_000).default(5_000),
    stream_enabled: z.boolean().default(true),
    connections_per_agent: z.number().int().min(1).max(1024).default(64),
  }),
  breaker: section({
    enabled: z.boolean().default(true),
    window_sec: z.number().min(1).max(3_600).default(120),
    trip_failures: z.number().int().min(1).max(1_000).default(6),
    trip_window: z.number().int().min(1).max(1_000).default(10),
    error_rate: z.number().gt(0).max(1).default(0.5),
    min_requests: z.number().int().min(1).max(100_000).default(20),
    sustained_sec: z.number().min(0).max(3_600).default(10),
    latency_ms: z.number().int().min(1).max(86_400_000).optional(),
    bypass_share: z.number().gt(0).lt(1).default(0.05),
    bypass_successes: z.number().int().min(1).max(1_000).default(10),
    probe_interval_sec: z.number().min(0.1).max(3_600).default(5),
    recovery_steps: z.array(z.number().gt(0).lt(1)).min(1).max(10).default([0.1, 0.25, 0.5]),
    recovery_successes: z.number().int().min(1).max(1_000).default(5),
    recovery_step_sec: z.number().min(0.1).max(3_600).default(10),
  }).superRefine(breakerRules),
  ejection: section({
    consecutive_failures: z.number().int().min(1).max(1_000).default(5),
    base_sec: z.number().min(0.1).max(3_600).default(30),
    max_sec: z.number().min(0.1).max(86_400).default(300),
    max_percent: z.number().int().min(0).max(100).default(50),
  }),
  bulkhead: section({
    limits: z
      .record(z.string(), z.number().int().min(1).max(100_000))
      .default({})
      .meta({ description: "Calls at once by agent name, set by hand; beats Little's law." }),
    default_limit: z.number().int().min(1).max(100_000).default(100),
    queue_limit: z.number().int().min(0).max(100_000).default(100),
    queue_wait: duration.default(500),
    max_concurrent_calls: z
      .number()
      .int()
      .min(1)
      .max(100_000)
      .default(1_000)
      .meta({ description: 'Calls of push agents that one worker makes at once, over all agents.' }),
  }),
  nesting: section({
    max_depth: z
      .number()
      .int()
      .min(1)
      .max(32)
      .default(DEFAULT_MAX_DEPTH)
      .meta({ description: 'Longest chain of reaches below each other, the first included.' }),
  }),
  retry: section({
    concurrent_per_agent: z.number().int().min(1).max(1_000).default(8),
  }),
  backpressure: section({
    max_in_flight: z.number().int().min(1).max(1_000_000).default(2_000),
    max_backlog_age: duration.default(5_000),
  }),
  callbacks: section({
    secret_env: z.string().optional().meta({
      description:
        'Name of the variable with the secret, whsec_…; without it the processes share one they keep in etcd.',
    }),
    previous_secret_env: z.string().optional().meta({
      description: 'The secret before it, while receivers change over: callbacks then carry a signature of each.',
    }),
    retry_schedule: z
      .array(duration)
      .max(20)
      .default([5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000]),
    timeout: duration.default(15_000),
    max_age: duration.default(172_800_000),
  }).superRefine(callbackRules),
  context: section({
    ttl: duration
      .default(604_800_000)
      .refine((ms) => ms >= 10_000 && ms <= 31_536_000_000, 'must be from 10s to 8760h')
      .meta({ description: 'A context vanishes when it was not written to for so long.' }),
  }),
  dead_letters: section({
    alert_before: duration.default(86_400_000),
    sweep_interval: duration.default(60_000),
  }),
  payloads: section({
    max_bytes: z
      .number()
      .int()
      .min(1_048_576)
      .max(268_435_456)
      .default(DEFAULT_MAX_PAYLOAD_BYTES)
      .meta({ description: 'Largest payload and largest answer, bytes.' }),
    retention: duration
      .default(691_200_000)
      .refine((ms) => ms >= 60_000, 'must be at least 60s')
      .meta({
        description: 'What no reach has used for so long is removed; longer than the namespace keeps its runs.',
      }),
    upload_ttl: duration.default(86_400_000).meta({ description: 'Uploads that nobody goes on with are dropped.' }),
    sweep_interval: duration.default(3_600_000).refine((ms) => ms >= 1_000, 'must be at least 1s'),
    store: section({
      type: z.enum(['files', 's3']).default('files'),
      directory: z.string().min(1).default('.agent-reach/payloads'),
      bucket: z.string().min(1).optional(),
      endpoint: z.url().optional(),
      region: z.string().min(1).optional(),
      force_path_style: z.boolean().optional(),
      prefix: z
        .string()
        .regex(/^[A-Za-z0-9._/-]+$/, 'letters, digits and . _ / -')
        .optional(),
    }).superRefine(payloadStoreRules),
  }),
  routes: z.array(routeEntry).max(10_000).default([]),
  security: section({
    api_key_env: z.string().optional().meta({
      description:
        'Name of the variable that holds the API key; without it every caller on a loopback address is let in.',
    }),
    reach_token_secret_env: z
      .string()
      .optional()
      .meta({ description: 'At least 32 bytes; without it the gateways share one they keep in etcd.' }),
    token_env_allow: z
      .array(z.string())
      .default([])
      .meta({ description: 'Variables that descriptors may name as auth.token_env; a trailing * matches the rest.' }),
    egress_allow: z
      .array(z.string())
      .default([])
      .meta({ description: 'CIDR ranges and host names that may be called although they are local or private.' }),
  }),
  logging: section({
    level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  }),
});

/**
 * Settings that are read and validated already, so that one file serves this release and the next, but that nothing
 * acts on yet. Whoever sets one is told at start.
 */
export const INACTIVE_SETTINGS = ['router.exploration', 'adapter.stream_enabled', 'routes'] as const;

/** The typed, validated configuration with defaults applied; durations are milliseconds. */
export type Config = z.infer<typeof configSchema>;
