import { z } from 'zod';
import { DEFAULT_CLAIM_ABOVE_BYTES, MAX_CONTEXT_VALUE_BYTES } from '../protocol/context';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../protocol/payload-ref';
import { DEFAULT_MAX_DEPTH } from '../protocol/lineage';
import { routeListSchema } from '../protocol/route-table-schema';
import { duration, factor, interval, port, rule, section, share, strategy, weights } from './kinds';
import { breakerRules, callbackRules, payloadStoreRules, routeRules, temporalRules } from './rules-between';

/** The whole configuration, as written in `agent-reach.yaml`. Unknown keys are refused by name. */
export const configSchema = z.strictObject({
  server: section({
    host: z.string().default('127.0.0.1'),
    port: port.default(8080),
    graceful_timeout: interval(0).default(15_000),
    public_url: z.url().optional().meta({ description: 'How callers reach this gateway; used in links.' }),
  }),
  temporal: section({
    address: z.string().default('127.0.0.1:7233'),
    namespace: z.string().default('default'),
    task_queue: z.string().min(1).default('agent-reach'),
    api_key_env: z.string().optional(),
    tls: z.boolean().optional(),
    ui_url: z.url().optional(),
    agents_address: z
      .string()
      .optional()
      .meta({ description: 'Address of Temporal told to agents that run as activity workers.' }),
  }).superRefine(temporalRules),
  registry: section({
    etcd: z.array(z.string()).min(1).default(['127.0.0.1:2379']),
    key_prefix: z.string().startsWith('/').default('/agent-reach'),
    refresh_interval: interval(100).default(10_000),
    health_threshold: share.default(0.3),
    strict_names: z
      .boolean()
      .default(false)
      .meta({ description: 'Refuse names of abilities and agents that are near a known one, instead of warning.' }),
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
    learning: section({
      half_life: duration
        .default(600_000)
        .refine((ms) => ms >= 10_000 && ms <= 86_400_000, 'must be from 10s to 24h')
        .meta({ description: 'After so long an outcome weighs half in the reliability of an agent.' }),
    }),
    open_match: section({
      min_fit: share.default(0.5).meta({ description: 'What fits a text less is off topic for it.' }),
      min_confidence: share
        .default(0)
        .meta({ description: 'With less confidence, several are alike and none is taken.' }),
    }),
  }),
  embeddings: section({
    url: z.url().optional().meta({
      description:
        'OpenAI-compatible base URL, such as http://127.0.0.1:8009/v1; without it routing by meaning is lexical.',
    }),
    model: z.string().default('multilingual-e5-small'),
    api_key_env: z.string().optional(),
    timeout: interval(1).default(1_500),
    cache_file: z.string().optional(),
    input_type: z.enum(['query', 'none']).default('query'),
  }),
  adapter: section({
    protocol_timeout_ms: z.number().int().min(1).max(86_400_000).default(5_000),
    stream_enabled: z.boolean().default(true),
    connections_per_agent: z.number().int().min(1).max(100_000).optional().meta({
      description: 'Most connections to one origin; default: one for each call that the limits let through.',
    }),
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
    queue_wait: interval(0).default(500),
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
  scaling: section({
    target_utilisation: z.number().min(0.1).max(0.95).default(0.8).meta({
      description: 'Most of the capacity of an agent that may be taken before more instances are recommended.',
    }),
    target_wait_ms: z
      .number()
      .int()
      .min(1)
      .max(86_400_000)
      .optional()
      .meta({ description: 'What 95 % of messages may wait for an agent; default: five times its mean service time.' }),
  }),
  acceptance: section({
    feasibility: z
      .enum(['off', 'warn', 'refuse'])
      .default('warn')
      .meta({ description: 'What becomes of a reach that can hardly be answered within its time.' }),
    min_probability: z
      .number()
      .gt(0)
      .max(0.5)
      .default(0.05)
      .meta({ description: 'With refuse: a reach is refused when its chance is surely below this.' }),
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
    timeout: interval(1).default(15_000),
    max_age: duration.default(172_800_000),
  }).superRefine(callbackRules),
  context: section({
    ttl: duration
      .default(604_800_000)
      .refine((ms) => ms >= 10_000 && ms <= 31_536_000_000, 'must be from 10s to 8760h')
      .meta({ description: 'A context vanishes when it was not written to for so long.' }),
    claim_above_bytes: z
      .number()
      .int()
      .min(4_096)
      .max(MAX_CONTEXT_VALUE_BYTES)
      .default(DEFAULT_CLAIM_ABOVE_BYTES)
      .meta({ description: 'Values over so many bytes of compact JSON are kept as blobs, and etcd has a reference.' }),
    claim_grace: duration
      .default(86_400_000)
      .refine((ms) => ms >= 3_600_000, 'must be at least 1h')
      .meta({ description: 'A blob is kept for so long, and up to twice that, after no field refers to it any more.' }),
  }),
  dead_letters: section({
    alert_before: duration.default(86_400_000),
    sweep_interval: interval(1_000).default(60_000),
  }),
  decisions: section({
    sample_rate: share
      .default(1)
      .meta({ description: 'Share of routing decisions that the decision log keeps; 0 keeps none.' }),
    keep_text: z.boolean().default(true).meta({
      description:
        'Keep the text by which was routed, at most 2,000 characters of the payload; false keeps its SHA-256 only, and decisions cannot be replayed under another embedding model.',
    }),
    retention: duration.default(604_800_000).refine((ms) => ms >= 60_000, 'must be at least 60s'),
    max_bytes: z
      .number()
      .int()
      .min(16_777_216)
      .default(1_073_741_824)
      .meta({ description: 'Of a larger log the oldest decisions go, bytes as stored.' }),
    flush_interval: duration
      .default(1_000)
      .refine((ms) => ms >= 50 && ms <= 60_000, 'must be from 50ms to 60s')
      .meta({ description: 'What a process that is killed loses of its decisions.' }),
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
    upload_ttl: duration
      .default(86_400_000)
      .refine((ms) => ms >= 60_000, 'must be at least 1m, or chunks under way would be swept')
      .meta({ description: 'Uploads that nobody goes on with are dropped.' }),
    sweep_interval: interval(1_000).default(3_600_000),
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
  routes: routeListSchema.superRefine(routeRules).default([]).meta({
    description: 'The route table (R21) to begin with; what is written with PUT /v1/routes takes its place for good.',
  }),
  canary: section({
    auto_rollback: section({
      enabled: z.boolean().default(false).meta({
        description: 'Take a canary that is significantly worse than the stable version out of the traffic.',
      }),
      alpha: z.number().gt(0).max(0.2).default(0.01).meta({
        description: 'Chance that a canary as good as the stable version is ever rolled back.',
      }),
      min_requests: z.number().int().min(20).max(100_000).default(50),
      min_error_increase: share.default(0.01),
      min_latency_ratio: z.number().min(1).max(100).default(1.25),
      interval: interval(100).default(5_000),
    }),
  }),
  alerts: section({
    callback_url: z
      .url()
      .optional()
      .meta({ description: 'Alerts are posted there too, signed per Standard Webhooks as the ends of reaches are.' }),
  }),
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
export const INACTIVE_SETTINGS = ['adapter.stream_enabled'] as const;

/** The typed, validated configuration with defaults applied; durations are milliseconds. */
export type Config = z.infer<typeof configSchema>;
