import type { ICompare, IKeyValue, IRequestOp, IResponseOp, ITxnResponse } from 'etcd3';
import { absent, deleteOp, deletePrefixOp, getOp, getPrefixOp, putOp, unchanged } from '../registry/etcd/etcd-ops';
import type { Change, Changes } from './changes';
import type { ContextKeys } from './context-keys';
import { encodeHead, encodePart, LIST_HEAD, type Stamp } from './stored';

/** How a field is that is appended to, as far as is known: the compare says so, and etcd whether it is true. */
export type ListState = 'list' | 'absent';

/** What a batch is written with. */
export interface WriteContext {
  keys: ContextKeys;
  stamp: Stamp;
  lease: string;
  /** Unique to this try: the key of what it appends. */
  unique: string;
  listState: (field: string) => ListState;
}

/** A transaction of etcd: all of it or nothing. */
export interface Transaction {
  compare: ICompare[];
  success: IRequestOp[];
  failure: IRequestOp[];
}

/** etcd takes so many requests in a transaction, and in a nested one as many as the outer one leaves; four are enough. */
const MAX_OUTER_OPS = 124;

/**
 * A batch as one transaction: it compares the head of each field with its base version, and answers, when one is not as
 * it should be, what all of them are at that moment. The requests of a field are a nested transaction, which has a limit
 * of its own: so a batch may have a hundred fields. Heads are put outside as far as there is room, and one at least: an etcd
 * that is out of space does not look for puts in nested transactions.
 */
export function transactionOf(changes: Changes, write: WriteContext): Transaction {
  const entries = [...changes];
  const success = entries.map(([field, change]) => successOf(field, change, write));
  const lifted: IRequestOp[] = [];
  for (const operations of success) {
    const [first] = operations;
    if (first?.request_put === undefined || entries.length + lifted.length >= MAX_OUTER_OPS) continue;
    lifted.push(first);
    operations.shift();
  }
  return {
    compare: entries.flatMap(([field, change]) => compareOf(field, change, write)),
    success: [...success.map(nested), ...lifted],
    failure: entries.map(([field, change]) => nested(failureOf(field, change, write.keys))),
  };
}

/** `'0'`, the revision of what does not exist, is compared as such by etcd. */
function compareOf(field: string, change: Change, { keys, listState }: WriteContext): ICompare[] {
  const head = keys.head(field);
  if (change.kind !== 'append') return change.base === null ? [] : [unchanged(head, String(change.base))];
  if (listState(field) === 'absent') return [absent(head)];
  return [{ key: Buffer.from(head), target: 'Value', result: 'Equal', value: Buffer.from(LIST_HEAD) }];
}

/** A put comes first: the head's. */
function successOf(field: string, change: Change, { keys, stamp, lease, unique }: WriteContext): IRequestOp[] {
  const head = keys.head(field);
  switch (change.kind) {
    case 'set':
      if (!Array.isArray(change.value))
        return [putOp(head, encodeHead(change.text, stamp), lease), deletePrefixOp(keys.tail(field))];
      return [
        putOp(head, LIST_HEAD, lease),
        putOp(keys.base(field), encodePart([change.text.slice(1, -1)].filter(Boolean), stamp), lease),
        deleteRange(keys.chunks(field), afterAll(keys.items(field))),
      ];
    case 'append':
      return [
        putOp(head, LIST_HEAD, lease),
        putOp(keys.item(field, unique), encodePart(change.texts, stamp), lease),
        getPrefixOp(keys.items(field), { count_only: true }),
      ];
    case 'delete':
      return [deleteOp(head), deletePrefixOp(keys.tail(field))];
  }
}

/** An append needs to know only what the field is; a conflict shows the whole value. */
function failureOf(field: string, change: Change, keys: ContextKeys): IRequestOp[] {
  const head = getOp(keys.head(field));
  return change.kind === 'append' ? [head] : [head, getPrefixOp(keys.tail(field))];
}

/** What a failed transaction found of a field, by the place of its change. */
export function foundBy(response: ITxnResponse, index: number): IKeyValue[] {
  return responsesOf(response, index).flatMap(({ response_range: range }) => range?.kvs ?? []);
}

/** How many keys of single appends a list has after the append. */
export function itemsAfter(response: ITxnResponse, index: number): number {
  const counted = responsesOf(response, index).find(({ response_range: range }) => range !== undefined);
  return Number(counted?.response_range?.count ?? 0);
}

function responsesOf(response: ITxnResponse, index: number): Partial<IResponseOp>[] {
  return (response.responses[index] as Partial<IResponseOp> | undefined)?.response_txn?.responses ?? [];
}

/** Bytes of a transaction's keys and values: what etcd's limit on requests is about. */
export function sizeOf({ compare, success, failure }: Transaction): number {
  const ofOps = (ops: readonly IRequestOp[]): number => ops.reduce((sum, op) => sum + sizeOfOp(op), 0);
  return compare.reduce((sum, { key }) => sum + bytes(key), 0) + ofOps(success) + ofOps(failure);
}

/** Frames and tags around a request. */
const OVERHEAD_BYTES = 32;

function sizeOfOp({
  request_put: put,
  request_range: range,
  request_delete_range: remove,
  request_txn: txn,
}: IRequestOp) {
  const inner: number = (txn?.success ?? []).reduce((sum, op) => sum + sizeOfOp(op), 0);
  const keys = bytes(put?.key) + bytes(put?.value) + bytes(range?.key) + bytes(range?.range_end);
  return OVERHEAD_BYTES + inner + keys + bytes(remove?.key) + bytes(remove?.range_end);
}

const bytes = (value: Buffer | undefined): number => value?.length ?? 0;

function nested(success: IRequestOp[]): IRequestOp {
  return { request_txn: { compare: [], success, failure: [] } };
}

function deleteRange(from: string, to: Buffer): IRequestOp {
  return { request_delete_range: { key: Buffer.from(from), range_end: to } };
}

/** The first key after all that begin with `prefix`, which ends in `/`. */
function afterAll(prefix: string): Buffer {
  return Buffer.from(`${prefix.slice(0, -1)}0`);
}
