/** `/v1/breakers`: circuit breakers, and an operator's word over them. */
import { z } from 'zod';
import {
  breakerItemSchema,
  breakerListQuery,
  breakerOverrideSchema,
  breakerReleaseQuery,
  type BreakerItem,
  type BreakerOverrideRequest,
} from '../breaker-override';
import { BODY_PROBLEMS, json, type Operation } from './operation';

const params = z.object({
  name: z.string().meta({ description: "The agent's name.", example: 'refund_agent' }),
  ability: z.string().meta({ example: 'refund_progress' }),
});
const path = '/v1/agents/{name}/abilities/{ability}/breaker';
const items = z.object({ items: z.array(breakerItemSchema) });

const whose = { agent_name: 'refund_agent', agent_version: '1.2.0', ability: 'refund_progress' };
const counts = { error_rate: 0.7, requests: 20 };
const bypassed: BreakerItem = {
  ...whose,
  ...counts,
  state: 'bypass',
  since: '2026-05-04T08:30:00.000Z',
  share: 0.05,
  reason: '6 of the last 10 calls failed',
};
const held: BreakerItem = {
  ...whose,
  ...counts,
  state: 'open',
  since: '2026-05-04T08:31:00.000Z',
  share: 0,
  reason: 'the bank is in maintenance',
  override: {
    state: 'open',
    reason: 'the bank is in maintenance',
    by: 'api-key',
    set_at: '2026-05-04T08:31:00.000Z',
    expires_at: '2026-05-04T08:41:00.000Z',
  },
};
const request: BreakerOverrideRequest = { state: 'open', reason: 'the bank is in maintenance', expires_in_sec: 600 };

/** Operations on circuit breakers (R28). */
export const BREAKER_OPERATIONS: Operation[] = [
  {
    method: 'get',
    path: '/v1/breakers',
    id: 'listBreakers',
    tag: 'agents',
    summary: 'Circuit breakers that are not closed',
    query: breakerListQuery,
    answers: { 200: { description: 'The breakers', body: json(items, { bypassed: { items: [bypassed] } }) } },
    problems: ['invalid_request'],
  },
  {
    method: 'put',
    path,
    id: 'holdBreaker',
    tag: 'agents',
    summary: 'Hold a circuit breaker open or closed',
    description: 'It holds in all processes, whatever the breaker itself finds, until it expires or is taken back.',
    params,
    body: json(breakerOverrideSchema, { maintenance: request }),
    answers: { 200: { description: 'What holds now', body: json(items, { held: { items: [held] } }) } },
    problems: [...BODY_PROBLEMS, 'agent_not_found', 'ability_not_found', 'version_not_found'],
  },
  {
    method: 'delete',
    path,
    id: 'releaseBreaker',
    tag: 'agents',
    summary: 'Give a circuit breaker back to itself',
    params,
    query: breakerReleaseQuery,
    answers: { 200: { description: 'What holds now', body: json(items, { bypassed: { items: [bypassed] } }) } },
    problems: ['invalid_request', 'agent_not_found', 'ability_not_found', 'version_not_found'],
  },
];
