import { ReachError } from '../../protocol/reach-error';
import { heaviest, splitKey, splitTarget, type FormerRoute, type RouteEntry } from '../../protocol/route-table';
import { callEtcd } from '../etcd/etcd-client';
import { unchanged } from '../etcd/etcd-ops';
import { Keyspace } from '../keys';
import { DEFAULT_KEY_PREFIX, type RegistryOptions } from '../registry';
import { decodeTable, encodeTable, etagOf, type TableRecord } from './table-record';

/** The table as etcd has it. */
export interface StoredTable {
  entries: readonly RouteEntry[];
  /** {@link etagOf} its entries. */
  etag: string;
  /** False: nobody has ever written it. */
  exists: boolean;
}

/** Says of the table as it is what it is to be; null leaves it as it is. May be asked again when others wrote meanwhile. */
export type TableChange = (stored: StoredTable) => readonly RouteEntry[] | null;

/** Writers that meet so often in a row are no race any more. */
const MAX_TRIES = 8;
/** etcd refuses requests over 1.5 MiB. */
const MAX_RECORD_BYTES = 1_400_000;
/** Splits without routes whose heaviest version is remembered. */
const MAX_FORMER = 2_000;

/**
 * The route table (R21) on etcd: one key, replaced as a whole by compare-and-swap. Reads here are exact; what routing
 * goes by is the view's to say. Fails with `engine_unavailable` within about 3 s when etcd does not answer.
 */
export class RouteTableStore {
  private readonly key: string;

  constructor(private readonly options: Pick<RegistryOptions, 'etcd' | 'keyPrefix' | 'tenant'>) {
    const keys = new Keyspace(options.keyPrefix ?? DEFAULT_KEY_PREFIX, options.tenant);
    this.key = keys.under(keys.routes, 'table');
  }

  async read(): Promise<StoredTable> {
    return callEtcd('reading the route table', async () => toStored((await this.load()).record));
  }

  /** Changes the table, or leaves it, and answers it as it is then. @throws what `change` throws */
  change(change: TableChange): Promise<StoredTable> {
    return callEtcd('writing the route table', async () => {
      for (let n = 1; n <= MAX_TRIES; n += 1) {
        const { record, modRevision } = await this.load();
        const stored = toStored(record);
        const entries = change(stored);
        if (entries === null) return stored;
        const value = encodeTable({ entries, former: formerAfter(record, entries) });
        assertFits(value);
        const written = await this.options.etcd.kv.txn({
          compare: [unchanged(this.key, modRevision)],
          success: [{ request_put: { key: Buffer.from(this.key), value } }],
          failure: [],
        });
        if (written.succeeded) return { entries, etag: etagOf(entries), exists: true };
      }
      throw new ReachError('engine_unavailable', 'The route table is being written by others; try again', {
        retryAfterMs: 1_000,
      });
    });
  }

  private async load(): Promise<{ record: TableRecord | null; modRevision: string }> {
    const { kvs } = await this.options.etcd.kv.range({ key: Buffer.from(this.key) });
    const [found] = kvs;
    if (found === undefined) return { record: null, modRevision: '0' };
    const record = decodeTable(found.value);
    if (record === null)
      throw new ReachError('internal', `The route table at ${this.key} cannot be read; it is of another release`);
    return { record, modRevision: found.mod_revision };
  }
}

function toStored(record: TableRecord | null): StoredTable {
  const entries = record?.entries ?? [];
  return { entries, etag: etagOf(entries), exists: record !== null };
}

/**
 * Whom splits bore most that have no routes any more: without it, taking the routes of a finished rollout out of the
 * table would give the calls back to the version before. The newest are remembered, up to a limit.
 */
function formerAfter(before: TableRecord | null, entries: readonly RouteEntry[]): FormerRoute[] {
  const kept = new Set(splitsOf(entries).keys());
  const latest = new Map<string, FormerRoute>();
  const remember = (key: string, route: FormerRoute) => {
    latest.delete(key);
    if (!kept.has(key)) latest.set(key, route);
  };
  for (const route of before?.former ?? []) remember(keyOf(route), route);
  for (const [key, split] of splitsOf(before?.entries ?? [])) {
    const { ability, from, to } = split[0]!;
    const { name } = splitTarget(to);
    const version = heaviest(split.map((one) => ({ version: splitTarget(one.to).version, weight: one.weight })));
    if (version !== null) remember(key, { ability, from, to: `${name}#${version}` });
  }
  return [...latest.values()].slice(-MAX_FORMER);
}

function splitsOf(entries: readonly RouteEntry[]): Map<string, RouteEntry[]> {
  const splits = new Map<string, RouteEntry[]>();
  for (const entry of entries) {
    const key = keyOf(entry);
    const split = splits.get(key);
    if (split) split.push(entry);
    else splits.set(key, [entry]);
  }
  return splits;
}

function keyOf({ ability, from, to }: FormerRoute): string {
  return splitKey(ability, from, splitTarget(to).name);
}

function assertFits(value: Buffer): void {
  if (value.byteLength <= MAX_RECORD_BYTES) return;
  throw new ReachError(
    'payload_too_large',
    `The route table takes ${value.byteLength} bytes compressed, at most ${MAX_RECORD_BYTES} are allowed; write fewer routes`,
  );
}
