import type {
  DeduplicationBegin,
  DeduplicationBeginAnswer,
  DeduplicationComplete,
  DeduplicationCompleteAnswer,
} from '../../protocol/deduplication';
import { assertAgentName, Keyspace } from '../keys';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { DeduplicationRecords } from './deduplication-records';

/**
 * The platform's deduplication store (R7), which agents reach through the gateway: records of one tenant by agent and
 * business key. An agent need not be registered at that moment, so its last answers can be recorded while it leaves.
 */
export class PlatformDeduplication {
  readonly #records: DeduplicationRecords;
  readonly #keys: Keyspace;

  constructor({ etcd, keyPrefix = DEFAULT_KEY_PREFIX, tenant, clock }: Omit<RegistryOptions, 'logger'>) {
    this.#records = new DeduplicationRecords(etcd, clock);
    this.#keys = new Keyspace(keyPrefix, tenant);
  }

  /** @throws ReachError `agent_not_found` for what cannot be a name, and as {@link DeduplicationRecords.begin} */
  async begin(agentName: string, request: DeduplicationBegin): Promise<DeduplicationBeginAnswer> {
    return this.#records.begin({ ...request, key: this.#keyOf(agentName, request.key) });
  }

  /** @throws ReachError `agent_not_found` for what cannot be a name, and as {@link DeduplicationRecords.complete} */
  async complete(agentName: string, request: DeduplicationComplete): Promise<DeduplicationCompleteAnswer> {
    return this.#records.complete({ ...request, key: this.#keyOf(agentName, request.key) });
  }

  #keyOf(agentName: string, key: string): string {
    assertAgentName(agentName);
    return this.#keys.under(this.#keys.deduplication, agentName, key);
  }
}
