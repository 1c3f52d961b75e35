import type { IKeyValue } from 'etcd3';
import { parsePayloadRef, isPayloadRef, type PayloadRef } from '../protocol/payload-ref';
import { ReachError } from '../protocol/reach-error';
import type { Json } from '../protocol/shapes';
import type { ContextKeys } from './context-keys';

/** Who wrote something, and when (ISO). */
export interface Stamp {
  at: string;
  by: string;
}

/** What a head holds: a value, a reference to the blob with its JSON, or that the values are in the tail. */
export type Head =
  { kind: 'value'; value: Json; stamp: Stamp } | { kind: 'claim'; ref: PayloadRef; stamp: Stamp } | { kind: 'list' };

/** Some values of a list: here, or as the JSON of a list in a blob. */
export type Piece = { values: Json[] } | { ref: PayloadRef };

/** Part of a list. */
export interface Part {
  pieces: Piece[];
  stamp: Stamp;
}

/** What a field holds. */
export type Content =
  { kind: 'value'; value: Json } | { kind: 'claim'; ref: PayloadRef } | { kind: 'list'; pieces: Piece[] };

/** The head of every list, byte by byte: an append holds only while it finds exactly this. */
export const LIST_HEAD = '{"list":1}';

const opening = ({ at, by }: Stamp): string => `{"at":${JSON.stringify(at)},"by":${JSON.stringify(by)},`;

/** A head as text: `{"at","by","v"}`. */
export function encodeHead(valueText: string, stamp: Stamp): string {
  return `${opening(stamp)}"v":${valueText}}`;
}

/** Part of a list as text; the values as they are written in JSON. */
export function encodePart(valueTexts: readonly string[], stamp: Stamp): string {
  return `${opening(stamp)}"v":[${valueTexts.join(',')}]}`;
}

/** A head, or part of a list, whose value is a blob: `{"at","by","ref"}`. */
export function encodeClaim(ref: PayloadRef, stamp: Stamp): string {
  return `${opening(stamp)}"ref":${JSON.stringify(ref)}}`;
}

/** Part of a list as text, also where some of it are blobs: `{"at","by","p":[{"values"} or {"ref"}]}`. */
export function encodePieces(pieces: readonly Piece[], stamp: Stamp): string {
  if (pieces.every((piece) => 'values' in piece)) {
    const texts = pieces.flatMap(({ values }) => values.map((value) => JSON.stringify(value)));
    return encodePart(texts, stamp);
  }
  return `${opening(stamp)}"p":${JSON.stringify(joined(pieces))}}`;
}

function joined(pieces: readonly Piece[]): Piece[] {
  const all: Piece[] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    if (last && 'values' in last && 'values' in piece) for (const value of piece.values) last.values.push(value);
    else all.push('values' in piece ? { values: [...piece.values] } : piece);
  }
  return all;
}

/** @throws ReachError `internal` for what this release cannot read; guessing would lose what is there */
export function decodeHead(entry: IKeyValue): Head {
  const text = entry.value.toString();
  if (text === LIST_HEAD) return { kind: 'list' };
  const { at, by, ...record } = parse(entry, text);
  const stamp = { at, by };
  if (record.ref !== undefined) return { kind: 'claim', ref: record.ref, stamp };
  if (record.v === undefined) throw unreadable(entry);
  return { kind: 'value', value: record.v, stamp };
}

/** @throws ReachError `internal` */
export function decodePart(entry: IKeyValue): Part {
  const { at, by, v, ref, p } = parse(entry, entry.value.toString());
  const stamp = { at, by };
  if (ref !== undefined) return { pieces: [{ ref }], stamp };
  if (p !== undefined) return { pieces: p, stamp };
  if (Array.isArray(v)) return { pieces: [{ values: v }], stamp };
  throw unreadable(entry);
}

/** A field's version: the revision of its head. Revisions count all writes of an etcd cluster, so they never restart. */
export function versionOf(entry: IKeyValue): number {
  return Number(entry.mod_revision);
}

/** A field as it is stored. */
export interface StoredField {
  content: Content;
  version: number;
  updated_at: string;
  updated_by: string;
  /** Bytes of compact JSON in etcd, name included. */
  bytes: number;
  /** Bytes in blobs. */
  claimed: number;
}

/** The blobs that a field refers to. */
export function claimsOf(content: Content): PayloadRef[] {
  if (content.kind === 'claim') return [content.ref];
  return content.kind === 'list' ? content.pieces.flatMap((piece) => ('ref' in piece ? [piece.ref] : [])) : [];
}

/** Bytes of the blobs. */
export function claimedBytes(content: Content): number {
  return claimsOf(content).reduce((sum, ref) => sum + (parsePayloadRef(ref)?.bytes ?? 0), 0);
}

/** All fields among the keys that one read found, in the order of their names as etcd sorts them. */
export function decodeFields(entries: readonly IKeyValue[], keys: ContextKeys): Map<string, StoredField> {
  const fields = new Map<string, StoredField>();
  const lists = new Map<string, { head: IKeyValue; parts: Sorted }>();
  for (const entry of entries) {
    const place = keys.parse(entry.key.toString());
    if (place === null) continue;
    if (place.part === 'head') addHead(place.field, entry, { fields, lists });
    else lists.get(place.field)?.parts[place.part].push(entry);
  }
  for (const [field, { head, parts }] of lists) fields.set(field, listOf(field, head, parts));
  return fields;
}

type Sorted = Record<'base' | 'chunk' | 'item', IKeyValue[]>;

function addHead(
  field: string,
  entry: IKeyValue,
  { fields, lists }: { fields: Map<string, StoredField>; lists: Map<string, { head: IKeyValue; parts: Sorted }> },
): void {
  const head = decodeHead(entry);
  if (head.kind === 'list') {
    lists.set(field, { head: entry, parts: { base: [], chunk: [], item: [] } });
    return;
  }
  const { stamp, ...content } = head;
  fields.set(field, stored(content, { entry, stamp, bytes: Buffer.byteLength(field) + entry.value.length }));
}

/** A list in order: what it was set to, what was folded, and the appends since by the revision that made them. */
function listOf(field: string, head: IKeyValue, { base, chunk, item }: Sorted): StoredField {
  const entries = [...base, ...chunk, ...byRevision(item)];
  const parts = entries.map(decodePart);
  const stamp = parts.at(-1)?.stamp ?? { at: new Date(0).toISOString(), by: 'unknown' };
  const bytes = entries.reduce((sum, entry) => sum + entry.value.length, Buffer.byteLength(field));
  return stored({ kind: 'list', pieces: joined(parts.flatMap(({ pieces }) => pieces)) }, { entry: head, stamp, bytes });
}

function stored(
  content: Content,
  { entry, stamp, bytes }: { entry: IKeyValue; stamp: Stamp; bytes: number },
): StoredField {
  const { at: updated_at, by: updated_by } = stamp;
  return { content, version: versionOf(entry), updated_at, updated_by, bytes, claimed: claimedBytes(content) };
}

/** Oldest first. Appends of one transaction share one key, so no two have the same revision. */
export function byRevision(entries: readonly IKeyValue[]): IKeyValue[] {
  return [...entries].sort((a, b) => Number(a.mod_revision) - Number(b.mod_revision));
}

interface StoredRecord extends Stamp {
  v?: Json;
  ref?: PayloadRef;
  p?: Piece[];
}

function parse(entry: IKeyValue, text: string): StoredRecord {
  try {
    const value = JSON.parse(text) as Partial<StoredRecord>;
    const known =
      value.v !== undefined || (value.ref !== undefined && isPayloadRef(value.ref)) || Array.isArray(value.p);
    if (typeof value.at === 'string' && typeof value.by === 'string' && known) return value as StoredRecord;
  } catch {
    // said below
  }
  throw unreadable(entry);
}

function unreadable({ key }: IKeyValue): ReachError {
  return new ReachError('internal', `The value of ${key.toString()} in etcd cannot be read; delete it to go on`);
}
