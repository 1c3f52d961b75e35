import type { Etcd3, IKeyValue, IRequestOp, ITxnResponse } from 'etcd3';
import { ReachError } from '../../protocol/reach-error';
import { compareVersionsDescending } from '../../protocol/versions';
import { callEtcd } from '../etcd/etcd-client';
import { deleteOp, getPrefixOp, readOf, unchanged } from '../etcd/etcd-ops';
import { STATIC_INSTANCE_PREFIX } from '../../protocol/instance-id';
import type { Keyspace } from '../keys';
import { readRecord } from '../records';

/** etcd takes 128 operations a transaction; each instance needs four. */
const INSTANCES_PER_WRITE = 25;
const KEYS_PER_WRITE = 100;
/** Writes of others that may come between before giving up. */
const MAX_CONFLICTS = 25;

/** What went with a version. */
export interface RemovedVersion {
  /** Ids of the instances that were registered under it. */
  instances: string[];
  /** The versions that are left, highest first; none: the agent is gone. */
  left: string[];
}

/** Where records are removed. */
interface Store {
  etcd: Etcd3;
  keys: Keyspace;
}

/**
 * Removes one version of an agent with its instances. The version goes first, with as many instances as one transaction takes:
 * whatever registers later finds no version, so that the rest can be removed without a race.
 *
 * @returns null when there is no such agent
 * @throws ReachError `version_not_found` with what there is; `engine_unavailable`
 */
export function removeVersion(store: Store, name: string, version: string): Promise<RemovedVersion | null> {
  return callEtcd(`removing version ${version} of agent ${name}`, async () => {
    const removed: string[] = [];
    let left: string[] | null = null;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS;) {
      const found = await read(store, name, version);
      if (left === null && found.versions.length === 0) return null;
      if (left === null && !found.own) throw notThere(name, version, found.versions);
      // Whoever registers it anew meanwhile has what was not reached yet.
      if (left !== null && (found.own || found.instances.length === 0)) return { instances: removed.sort(), left };
      const some = found.instances.slice(0, INSTANCES_PER_WRITE);
      if (await write(store, { name, version, found, some })) {
        left ??= found.versions.filter((other) => other !== version).sort(compareVersionsDescending);
        removed.push(...some.map(({ id }) => id));
      } else conflicts += 1;
    }
    throw new ReachError('engine_unavailable', `Version ${version} of ${name} changes too fast; try again`, {
      retryAfterMs: 1_000,
    });
  });
}

interface Found {
  versions: string[];
  /** The version's own record; undefined when it is gone already. */
  own: IKeyValue | undefined;
  instances: { id: string; entry: IKeyValue }[];
  /** Keys of what is kept about it beside its instances: health of static addresses, instances that left. */
  remains: string[];
}

async function read({ etcd, keys }: Store, name: string, version: string): Promise<Found> {
  const kinds = ['agent', 'instance', 'health', 'gone'] as const;
  const success = kinds.map((kind) =>
    getPrefixOp(keys.recordsOf(kind, name), { keys_only: kind === 'agent' || kind === 'health' }),
  );
  const response: ITxnResponse = await etcd.kv.txn({ compare: [], success, failure: [] });
  const itemOf = ({ key }: IKeyValue) => keys.parse(key.toString())?.item ?? '';
  const agents = readOf(response, 0);
  const instances = readOf(response, 1).filter(({ value }) => readRecord.instance(value)?.version === version);
  const addresses = readOf(response, 2).filter((entry) => isAddressOf(itemOf(entry), version));
  const past = readOf(response, 3).filter(({ value }) => readRecord.gone(value)?.version === version);
  return {
    versions: agents.map(itemOf),
    own: agents.find((entry) => itemOf(entry) === version),
    instances: instances.map((entry) => ({ id: itemOf(entry), entry })),
    remains: [...addresses, ...past].map(({ key }) => key.toString()),
  };
}

/** `static-0@1.2.0`. */
function isAddressOf(item: string, version: string): boolean {
  return item.startsWith(STATIC_INSTANCE_PREFIX) && item.endsWith(`@${version}`);
}

async function write(
  { etcd, keys }: Store,
  { name, version, found, some }: { name: string; version: string; found: Found; some: Found['instances'] },
): Promise<boolean> {
  const key = keys.record('agent', name, version);
  const kinds = ['instance', 'beat', 'health', 'gone'] as const;
  // The version before its instances: who watches must not take them for lost.
  const success: IRequestOp[] = [
    ...(found.own ? [deleteOp(key), deleteOp(keys.namesRecord(name, version))] : []),
    ...some.flatMap(({ id }) => kinds.map((kind) => deleteOp(keys.record(kind, name, id)))),
  ];
  const compare = [
    ...(found.own ? [unchanged(key, found.own.mod_revision)] : []),
    ...some.map(({ entry }) => unchanged(entry.key.toString(), entry.mod_revision)),
  ];
  const { succeeded } = await etcd.kv.txn({ compare, success, failure: [] });
  for (let at = 0; succeeded && at < found.remains.length; at += KEYS_PER_WRITE) {
    const some = found.remains.slice(at, at + KEYS_PER_WRITE);
    await etcd.kv.txn({ compare: [], success: some.map(deleteOp), failure: [] });
  }
  return succeeded;
}

function notThere(name: string, version: string, versions: readonly string[]): ReachError {
  const available = versions.toSorted(compareVersionsDescending);
  const message = `Agent ${name} has no version ${version}; there ${available.length === 1 ? 'is' : 'are'} ${available.join(', ')}`;
  return new ReachError('version_not_found', `${message}. Nothing was removed; name one of these`, {
    diagnosis: { reason: 'version_mismatch', message, available_versions: available },
  });
}
