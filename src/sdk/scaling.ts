/** Scaling hints and statistics for programs and for the CLI (R34, R35). */
import type { ScalingHint, Stats } from '../protocol/scaling';
import type { RequestOptions } from './client-types';
import { GatewayApi } from './gateway-api';
import type { Transport } from './transport';

export type { AgentStats, ScalingHint, Stats } from '../protocol/scaling';

/** Most time for one request, ms. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Which agent; default all. */
export interface ScalingFilter {
  agent?: string;
}

/** `GET /v1/scaling-hints`. @throws ReachError `agent_not_found` */
export async function scalingHints(
  transport: Transport,
  { agent, ...options }: ScalingFilter & RequestOptions,
): Promise<ScalingHint[]> {
  const { items } = await read<{ items: ScalingHint[] }>(transport, '/v1/scaling-hints', { agent, ...options });
  return items;
}

/** `GET /v1/stats`. @throws ReachError `agent_not_found` */
export function stats(transport: Transport, options: ScalingFilter & RequestOptions): Promise<Stats> {
  return read(transport, '/v1/stats', options);
}

function read<T>(
  transport: Transport,
  path: string,
  { agent, ...options }: ScalingFilter & RequestOptions,
): Promise<T> {
  return new GatewayApi(transport, REQUEST_TIMEOUT_MS).get<T>(path, { query: { agent }, ...options });
}
