/** Scaling hints and measured totals as the API tells them (R35, R34). */
import { z } from 'zod';

const perSec = z.number().min(0).meta({ description: 'Per second.', example: 4.2 });
const ms = z.number().min(0).nullable();
const whole = z.number().int().min(0);

/** Percentiles are within 5 %; null: nothing was measured. */
const servicePercentiles = { p50: ms, p95: ms, p99: ms };

const SCALING_CAUSES = [
  'no_data',
  'capacity_shrunk',
  'bulkhead_too_low',
  'slow_messages',
  'more_messages',
  'slow_and_more_messages',
  'undersized',
  'idle',
  'steady',
] as const;

export const scalingHintSchema = z
  .object({
    agent_name: z.string().meta({ example: 'refund_agent' }),
    agent_version: z.string().meta({ example: '1.2.0' }),
    current: z.object({
      instances: whole.meta({ description: 'Those that take work now, full ones included.' }),
      max_concurrency: whole.nullable().meta({ description: 'Of all instances; null: not all of them say.' }),
      bulkhead_limit: whole.meta({ description: 'Calls at once that the platform lets through.' }),
      arrival_per_sec: perSec,
      arrival_per_sec_1m: perSec,
      calls_per_sec: perSec.meta({ description: 'Attempts per second, retries included.' }),
      service_ms: z.object({
        mean: ms,
        ...servicePercentiles,
        cv2: z.number().min(0).nullable().meta({ description: 'Squared coefficient of variation.' }),
      }),
      utilisation: z.number().min(0).nullable().meta({ description: 'Share of the capacity that is asked for.' }),
      in_flight: whole,
      queue_depth: whole,
      wait_ms_p95_estimate: ms.meta({ description: 'Null: nothing measured, or it grows without end.' }),
    }),
    earlier: z
      .object({
        seconds: z.number(),
        arrival_per_sec: perSec,
        service_ms: z.object({ mean: ms, ...servicePercentiles }),
      })
      .nullable()
      .meta({ description: 'The hour before the last five minutes; null while it is not known.' }),
    recommended: z.object({
      instances: z.number().int().min(1),
      reason: z.string(),
      bulkhead_limit: whole.nullable().meta({ description: 'Calls at once that the load needs.' }),
    }),
    cause: z.enum(SCALING_CAUSES),
    confidence: z.number().min(0).max(1),
    samples: z.object({ arrivals: whole, services: whole, window_sec: z.number().min(0) }),
    advice: z.array(z.string()),
    abilities: z.array(
      z.object({
        ability: z.string(),
        arrival_per_sec: perSec,
        service_ms: z.object({ mean: ms, ...servicePercentiles }),
      }),
    ),
  })
  .meta({ id: 'ScalingHint' });

/** One version of an agent: what it carries, what it should have, and first of all why. */
export type ScalingHint = z.infer<typeof scalingHintSchema>;

const counts = {
  instances: whole,
  requests: whole.meta({ description: 'Of the last 1000 of each ability.' }),
  failure_rate: z.number().min(0).max(1).nullable(),
  in_flight: whole,
  queue_depth: whole,
  arrival_per_sec: perSec,
};

const agentStatsSchema = z
  .object({ agent_name: z.string(), status: z.string(), ...counts, p50_ms: ms, p95_ms: ms, p99_ms: ms })
  .meta({ id: 'AgentStats' });

/** `GET /v1/stats`. */
export const statsSchema = z
  .object({ items: z.array(agentStatsSchema), totals: z.object({ agents: whole, ...counts }) })
  .meta({ id: 'Stats' });

export type AgentStats = z.infer<typeof agentStatsSchema>;
export type Stats = z.infer<typeof statsSchema>;

/** The query of both. */
export const agentQuerySchema = z.strictObject({
  agent: z.string().min(1).max(64).optional().meta({ description: 'This agent only.' }),
});
