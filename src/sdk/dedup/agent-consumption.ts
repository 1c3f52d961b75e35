import { MAX_DEDUPLICATION_TTL_MS } from '../../protocol/deduplication';
import type { Descriptor } from '../../protocol/descriptor';
import type { AgentOptions } from '../agent-types';
import { Consumption } from './consumption';
import { PlatformDeduplicationStore } from './platform';
import { retentionMs } from './store';

/**
 * How an agent remembers what it has done, as its options say: in the platform's store, in one that was given, or not at all.
 * `platformStore`, where there is one, is to be closed by the agent. @throws ReachError `invalid_request`
 */
export function consumptionOf(
  { deduplication = 'platform', deduplicationTtlMs, gateway, apiKey }: AgentOptions,
  { name: agentName, capabilities }: Descriptor,
): { consumption: Consumption; platformStore?: PlatformDeduplicationStore } {
  const isPlatform = deduplication === 'platform';
  const ttlMs = retentionMs(deduplicationTtlMs, isPlatform ? MAX_DEDUPLICATION_TTL_MS : undefined);
  const platformStore = isPlatform ? new PlatformDeduplicationStore({ url: gateway, apiKey, agentName }) : undefined;
  const given = typeof deduplication === 'string' ? null : deduplication;
  const consumption = new Consumption({ store: platformStore ?? given, ttlMs, agentName, capabilities });
  return { consumption, platformStore };
}
