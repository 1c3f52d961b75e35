/**
 * The few etcd requests the registry makes, as plain data for `etcd.kv`. The library's builders lack comparisons
 * over ranges, which is what makes name checks free of races.
 */
import {
  Range,
  type ICompare,
  type IRangeRequest,
  type IRequestOp,
  type IResponseOp,
  type ITxnResponse,
  type IKeyValue,
} from 'etcd3';

/** All keys below a prefix. */
export function prefixRange(prefix: string): { key: Buffer; range_end: Buffer } {
  const { start, end } = Range.prefix(prefix);
  return { key: start, range_end: end };
}

/** Writes a key; with a lease the key lives no longer than it. */
export function putOp(key: string, value: string, lease?: string): IRequestOp {
  return { request_put: { key: Buffer.from(key), value: Buffer.from(value), ...(lease !== undefined && { lease }) } };
}

export function getOp(key: string): IRequestOp {
  return { request_range: { key: Buffer.from(key) } };
}

/** Reads all keys below a prefix. */
export function getPrefixOp(prefix: string, options: Pick<IRangeRequest, 'keys_only' | 'count_only'> = {}): IRequestOp {
  return { request_range: { ...prefixRange(prefix), ...options } };
}

export function deleteOp(key: string): IRequestOp {
  return { request_delete_range: { key: Buffer.from(key) } };
}

export function deletePrefixOp(prefix: string): IRequestOp {
  return { request_delete_range: prefixRange(prefix) };
}

/** Holds while the key is as it was at `modRevision`; `'0'` means: does not exist. */
export function unchanged(key: string, modRevision: string): ICompare {
  return { key: Buffer.from(key), target: 'Mod', result: 'Equal', mod_revision: modRevision };
}

/** Holds while the key exists. */
export function exists(key: string): ICompare {
  return { key: Buffer.from(key), target: 'Create', result: 'Greater', create_revision: '0' };
}

/** Holds while the key does not exist. */
export function absent(key: string): ICompare {
  return { key: Buffer.from(key), target: 'Create', result: 'Equal', create_revision: '0' };
}

/** Holds while the key exists under this lease. */
export function heldUnder(key: string, lease: string): ICompare {
  return { key: Buffer.from(key), target: 'Lease', result: 'Equal', lease };
}

/** Holds while nothing below the prefix was written after `revision`. Deletions do not count. */
export function nothingNewer(prefix: string, revision: string): ICompare {
  return { ...prefixRange(prefix), target: 'Mod', result: 'Less', mod_revision: String(BigInt(revision) + 1n) };
}

/** The keys that the `index`-th request of a transaction read. */
export function readOf(response: ITxnResponse, index: number): IKeyValue[] {
  return (response.responses[index] as IResponseOp | undefined)?.response_range?.kvs ?? [];
}
