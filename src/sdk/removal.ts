/** Taking agents, and single versions of them, out of the registry. */
import { ReachError } from '../protocol/reach-error';
import type { AgentVersionRemoval } from '../protocol/version-removal';
import type { RequestOptions } from './client-types';
import { NAMELESS, pathSegment, type GatewayApi } from './gateway-api';

export type { AgentVersionRemoval } from '../protocol/version-removal';

/** `DELETE /v1/agents/{name}`. Not repeated once it may have arrived: a repeat would find nothing. @throws ReachError `agent_not_found` */
export async function removeAgent(api: GatewayApi, name: string, options: RequestOptions): Promise<void> {
  await api.call({ method: 'DELETE', path: pathOf(name), ...options, retry: 'unsent' });
}

/** `DELETE /v1/agents/{name}?version=`. @throws ReachError `agent_not_found`, `version_not_found` */
export async function removeAgentVersion(
  api: GatewayApi,
  { name, version }: { name: string; version: string },
  options: RequestOptions,
): Promise<AgentVersionRemoval> {
  // Without a version the same request removes everything.
  if (typeof version !== 'string' || version === '')
    throw new ReachError('invalid_request', 'Name the version to remove; removeAgent() removes them all');
  return api.call({ method: 'DELETE', path: pathOf(name), query: { version }, ...options, retry: 'unsent' });
}

const pathOf = (name: string) => `/v1/agents/${pathSegment(name, NAMELESS)}`;
