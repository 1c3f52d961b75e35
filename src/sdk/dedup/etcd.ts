/**
 * `agent-reach/dedup-etcd`: an agent's deduplication records on an etcd of its own.
 *
 * @example
 * ```ts
 * import { EtcdDeduplicationStore } from 'agent-reach/dedup-etcd';
 *
 * const deduplication = new EtcdDeduplicationStore({ hosts: '10.0.0.5:2379', keyPrefix: '/refunds/done' });
 * ```
 */
import type { Etcd3, IOptions } from 'etcd3';
import {
  MAX_ETCD_OUTPUT_BYTES,
  type DeduplicationBegin,
  type DeduplicationBeginAnswer,
  type DeduplicationComplete,
  type DeduplicationCompleteAnswer,
} from '../../protocol/deduplication';
import { createEtcd } from '../../registry/etcd/etcd-client';
import { DeduplicationRecords } from '../../registry/deduplication';
import type { DeduplicationStore } from './store';

export type { DeduplicationStore } from './store';

/** How to reach etcd, and where to write. */
export interface EtcdStoreOptions {
  /** `host:port` or `https://host:port`, one or several members of one cluster. */
  hosts: string | string[];
  /** Below it lie the records, `PREFIX/HASH`. Agents that are to know of each other's work share it; never empty. */
  keyPrefix: string;
  username?: string;
  password?: string;
  /** PEM documents for TLS; without them `https:` hosts use the system's roots. */
  credentials?: IOptions['credentials'];
}

/** Keeps outputs up to 256 KiB: what etcd holds is in every member's memory. */
export class EtcdDeduplicationStore implements DeduplicationStore {
  readonly maxOutputBytes = MAX_ETCD_OUTPUT_BYTES;
  readonly #etcd: Etcd3;
  readonly #records: DeduplicationRecords;
  readonly #prefix: string;

  /** Connects when first used. @throws RangeError for an empty prefix */
  constructor({ hosts, keyPrefix, username, password = '', credentials }: EtcdStoreOptions) {
    this.#prefix = keyPrefix.replace(/\/+$/, '');
    if (this.#prefix === '')
      throw new RangeError(`keyPrefix '${keyPrefix}' must not be empty; name a place such as /refunds/done`);
    const auth = username === undefined ? {} : { auth: { username, password } };
    this.#etcd = createEtcd({ hosts, credentials, ...auth });
    this.#records = new DeduplicationRecords(this.#etcd);
  }

  begin(request: DeduplicationBegin): Promise<DeduplicationBeginAnswer> {
    return this.#records.begin({ ...request, key: `${this.#prefix}/${request.key}` });
  }

  complete(request: DeduplicationComplete): Promise<DeduplicationCompleteAnswer> {
    return this.#records.complete({ ...request, key: `${this.#prefix}/${request.key}` });
  }

  /** Closes the connection. The agent does not do it: several may share a store. */
  close(): Promise<void> {
    this.#etcd.close();
    return Promise.resolve();
  }
}
