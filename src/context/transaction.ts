import type { ICompare, IKeyValue, IRequestOp, IResponseOp, ITxnResponse } from 'etcd3';
import {
  absent,
  deleteOp,
  deletePrefixOp,
  getOp,
  getPrefixOp,
  nothingNewer,
  putOp,
  unchanged,
} from '../registry/etcd/etcd-ops';
import { parsePayloadRef, type PayloadRef } from '../protocol/payload-ref';
import type { Change, Changes } from './changes';
import type { ClaimKeys } from './claim-keys';
import type { ContextKeys } from './context-keys';
import { textOf } from './encoded';
import { encodeClaim, encodeHead, encodePart, LIST_HEAD, type Stamp } from './stored';

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
  /** Set when something of the batch is kept as a blob. */
  claims?: WrittenClaims;
}

/** What of a batch is kept as blobs, and what must hold for them to be there. */
export interface WrittenClaims {
  /** By field. */
  refs: ReadonlyMap<string, PayloadRef>;
  /** No blob may have been condemned after this revision: which ones were until then is known. */
  fence: string;
  keys: ClaimKeys;
  contextId: string;
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
  const { compare, failure } = conditionOf(changes, write);
  return { compare, success: [...success.map(nested), ...lifted], failure };
}

/** The same batch, but nothing is written: whether it could be, and what there is if not. */
export function lookOf(changes: Changes, write: WriteContext): Transaction {
  const success = [...changes.keys()].map((field) => nested([getOp(write.keys.head(field))]));
  return { ...conditionOf(changes, write), success };
}

function conditionOf(changes: Changes, write: WriteContext): Pick<Transaction, 'compare' | 'failure'> {
  const entries = [...changes];
  const { claims } = write;
  return {
    compare: [
      ...entries.flatMap(([field, change]) => compareOf(field, change, write)),
      ...(claims ? [nothingNewer(claims.keys.condemned, claims.fence)] : []),
    ],
    failure: entries.map(([field, change]) => nested(failureOf(field, change, write))),
  };
}

/** `'0'`, the revision of what does not exist, is compared as such by etcd. */
function compareOf(field: string, change: Change, { keys, listState }: WriteContext): ICompare[] {
  const head = keys.head(field);
  if (change.base !== null) return [unchanged(head, String(change.base))];
  if (change.kind !== 'append') return [];
  if (listState(field) === 'absent') return [absent(head)];
  return [{ key: Buffer.from(head), target: 'Value', result: 'Equal', value: Buffer.from(LIST_HEAD) }];
}

/** A put comes first: the head's. */
function successOf(field: string, change: Change, write: WriteContext): IRequestOp[] {
  const { keys, stamp, lease } = write;
  const head = keys.head(field);
  const ref = write.claims?.refs.get(field);
  switch (change.kind) {
    case 'set':
      return [...setOf(field, change, write), ...referenceOf(field, write)];
    case 'append': {
      const part = ref ? encodeClaim(ref, stamp) : encodePart(change.bodies.map(textOf), stamp);
      return [
        putOp(head, LIST_HEAD, lease),
        putOp(keys.item(field, write.unique), part, lease),
        getPrefixOp(keys.items(field), { count_only: true }),
        ...referenceOf(field, write),
      ];
    }
    case 'delete':
      return [deleteOp(head), deletePrefixOp(keys.tail(field))];
  }
}

function setOf(
  field: string,
  { body }: Extract<Change, { kind: 'set' }>,
  { keys, stamp, lease, claims }: WriteContext,
): IRequestOp[] {
  const head = keys.head(field);
  const ref = claims?.refs.get(field);
  if (!body.isList) {
    const record = ref ? encodeClaim(ref, stamp) : encodeHead(textOf(body), stamp);
    return [putOp(head, record, lease), deletePrefixOp(keys.tail(field))];
  }
  const part = ref ? encodeClaim(ref, stamp) : encodePart([textOf(body).slice(1, -1)].filter(Boolean), stamp);
  return [
    putOp(head, LIST_HEAD, lease),
    putOp(keys.base(field), part, lease),
    deleteRange(keys.chunks(field), afterAll(keys.items(field))),
  ];
}

/** Under the same lease: what refers to a blob goes with its context. */
function referenceOf(field: string, { claims, lease }: WriteContext): IRequestOp[] {
  const ref = claims?.refs.get(field);
  if (!claims || ref === undefined) return [];
  return [putOp(claims.keys.reference(digestOf(ref), { contextId: claims.contextId, field }), '', lease)];
}

/** An append without a version needs to know only what the field is; a conflict shows the whole value. */
function failureOf(field: string, change: Change, { keys, claims }: WriteContext): IRequestOp[] {
  const ref = claims?.refs.get(field);
  const whole = change.kind !== 'append' || change.base !== null;
  return [
    getOp(keys.head(field)),
    ...(whole ? [getPrefixOp(keys.tail(field))] : []),
    ...(claims && ref !== undefined ? [getOp(claims.keys.condemnedBlob(digestOf(ref)))] : []),
  ];
}

function digestOf(ref: PayloadRef): string {
  return parsePayloadRef(ref)!.digest;
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
