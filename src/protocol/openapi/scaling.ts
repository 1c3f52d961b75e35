/** `/v1/scaling-hints` and `/v1/stats`: what agents carry, and what they should have. */
import { z } from 'zod';
import { agentQuerySchema, scalingHintSchema, statsSchema, type ScalingHint, type Stats } from '../scaling';
import { json, type Operation } from './operation';

const grown: ScalingHint = {
  agent_name: 'refund_agent',
  agent_version: '1.2.0',
  current: {
    instances: 2,
    max_concurrency: 8,
    bulkhead_limit: 8,
    arrival_per_sec: 18.2,
    arrival_per_sec_1m: 21.5,
    calls_per_sec: 17.9,
    service_ms: { mean: 640, p50: 520, p95: 1_580, p99: 2_350, cv2: 0.72 },
    utilisation: 1.46,
    in_flight: 8,
    queue_depth: 31,
    wait_ms_p95_estimate: null,
  },
  earlier: { seconds: 3_600, arrival_per_sec: 9.1, service_ms: { mean: 600, p50: 480, p95: 1_500, p99: 2_200 } },
  recommended: {
    instances: 4,
    reason: 'more messages: 9.1/s → 18/s; 18/s of 640 ms each, 146 % of 8 calls at once',
    bulkhead_limit: 43,
  },
  cause: 'more_messages',
  confidence: 0.9,
  samples: { arrivals: 5_460, services: 5_370, window_sec: 300 },
  advice: ['Run 4 instances instead of 2: the load needs 15 calls at once'],
  abilities: [
    {
      ability: 'refund_progress',
      arrival_per_sec: 18.2,
      service_ms: { mean: 640, p50: 520, p95: 1_580, p99: 2_350 },
    },
  ],
};

const counts = {
  instances: 2,
  requests: 1_000,
  failure_rate: 0.01,
  in_flight: 8,
  queue_depth: 31,
  arrival_per_sec: 18.2,
};
const stats: Stats = {
  items: [{ agent_name: 'refund_agent', status: 'busy', ...counts, p50_ms: 520, p95_ms: 1_580, p99_ms: 2_350 }],
  totals: { agents: 1, ...counts },
};

/** Operations on what was measured (R34, R35). */
export const SCALING_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path: '/v1/scaling-hints',
    id: 'scalingHints',
    tag: 'agents',
    summary: 'How many instances each agent needs, and why',
    description: 'The cause comes first: more instances are no answer to an agent that became slow.',
    query: agentQuerySchema,
    answers: {
      200: {
        description: 'The hints',
        body: json(z.object({ items: z.array(scalingHintSchema) }), { grown: { items: [grown] } }),
      },
    },
    problems: ['invalid_request', 'agent_not_found'],
  },
  {
    method: 'get',
    path: '/v1/stats',
    id: 'stats',
    tag: 'agents',
    summary: 'What every agent is doing, and all of them together',
    query: agentQuerySchema,
    answers: { 200: { description: 'The statistics', body: json(statsSchema, { busy: stats }) } },
    problems: ['invalid_request', 'agent_not_found'],
  },
];
