import type { Etcd3, IKeyValue } from 'etcd3';
import { absent, deleteOp, prefixRange, putOp, unchanged } from '../registry/etcd/etcd-ops';
import type { ContextKeys } from './context-keys';
import { byRevision, decodePart, encodePieces } from './stored';

/** From so many single appends on they are folded, unless told otherwise. */
export const FOLD_AT = 100;
/** Folded at once; with the chunk and its compare they fit into one transaction. */
const FOLD_MOST = 120;
/** A chunk over this is left as it is, and the next one begun: so that folding costs the same however long the list is. */
const CHUNK_BYTES = 65_536;
/** Rounds of one call; the next append goes on where this one stopped. */
const MAX_ROUNDS = 20;

/** One list, and the lease of its context. */
export interface FoldTarget {
  keys: ContextKeys;
  field: string;
  lease: string;
  foldAt: number;
}

/**
 * Folds single appends into chunks, so that reading a list does not take a key for each value. The oldest are taken, in their
 * order, and put at the end of what was folded: newer ones come after them in any case, so appends may go on meanwhile.
 * Each value is deleted in the transaction that writes it into the chunk, which holds only while the value is still there: a
 * list that was replaced or deleted meanwhile stays so. Versions do not change, for the head is not touched.
 *
 * @throws an etcd error; whatever happens, the list is whole
 */
export async function foldList(etcd: Etcd3, target: FoldTarget): Promise<void> {
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    if (!(await foldOnce(etcd, target))) return;
  }
}

/** False when there is nothing left to fold. */
async function foldOnce(etcd: Etcd3, { keys, field, lease, foldAt }: FoldTarget): Promise<boolean> {
  const { kvs } = await etcd.kv.range(prefixRange(keys.items(field)));
  if (kvs.length < foldAt) return false;
  const oldest = oldestThatFit(byRevision(kvs));
  const last = await lastChunk(etcd, keys, field);
  const { key, compare, before } =
    last === null || last.value.length > CHUNK_BYTES ? fresh(keys, field, last) : grown(last);
  const parts = [...before, ...oldest].map(decodePart);
  const pieces = parts.flatMap((part) => part.pieces);
  await etcd.kv.txn({
    compare: [compare, unchanged(oldest[0]!.key.toString(), oldest[0]!.mod_revision)],
    success: [
      putOp(key, encodePieces(pieces, parts.at(-1)!.stamp), lease),
      ...oldest.map((entry) => deleteOp(entry.key.toString())),
    ],
    failure: [],
  });
  return kvs.length - oldest.length >= foldAt;
}

/** Values of a megabyte each must not meet in one request. */
function oldestThatFit(entries: IKeyValue[]): IKeyValue[] {
  let bytes = 0;
  const fitting = entries.slice(0, FOLD_MOST).filter(({ value }, index) => {
    bytes += value.length;
    return index === 0 || bytes <= CHUNK_BYTES * 8;
  });
  return fitting;
}

async function lastChunk(etcd: Etcd3, keys: ContextKeys, field: string): Promise<IKeyValue | null> {
  const range = prefixRange(keys.chunks(field));
  const { kvs } = await etcd.kv.range({ ...range, sort_order: 'Descend', sort_target: 'Key', limit: 1 });
  return kvs[0] ?? null;
}

/** The next chunk, which nobody else may have begun. */
function fresh(keys: ContextKeys, field: string, last: IKeyValue | null) {
  const n = last === null ? 0 : Number(last.key.toString().slice(keys.chunks(field).length)) + 1;
  const key = keys.chunk(field, n);
  return { key, compare: absent(key), before: [] };
}

function grown(last: IKeyValue) {
  const key = last.key.toString();
  return { key, compare: unchanged(key, last.mod_revision), before: [last] };
}
