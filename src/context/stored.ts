import type { IKeyValue } from 'etcd3';
import type { ContextField } from '../protocol/context';
import { ReachError } from '../protocol/reach-error';
import type { Json } from '../protocol/shapes';
import type { ContextKeys } from './context-keys';

/** Who wrote something, and when (ISO). */
export interface Stamp {
  at: string;
  by: string;
}

/** What a head holds: a value, or that the values are in the tail. */
export type Head = { kind: 'value'; value: Json; stamp: Stamp } | { kind: 'list' };

/** Part of a list. */
export interface Part {
  values: Json[];
  stamp: Stamp;
}

/** The head of every list, byte by byte: an append holds only while it finds exactly this. */
export const LIST_HEAD = '{"list":1}';

/** A head as text: `{"at","by","v"}`. */
export function encodeHead(valueText: string, { at, by }: Stamp): string {
  return `{"at":${JSON.stringify(at)},"by":${JSON.stringify(by)},"v":${valueText}}`;
}

/** Part of a list as text; the values as they are written in JSON. */
export function encodePart(valueTexts: readonly string[], { at, by }: Stamp): string {
  return `{"at":${JSON.stringify(at)},"by":${JSON.stringify(by)},"v":[${valueTexts.join(',')}]}`;
}

/** @throws ReachError `internal` for what this release cannot read; guessing would lose what is there */
export function decodeHead(entry: IKeyValue): Head {
  const text = entry.value.toString();
  if (text === LIST_HEAD) return { kind: 'list' };
  const { at, by, v } = parse(entry, text);
  return { kind: 'value', value: v, stamp: { at, by } };
}

/** @throws ReachError `internal` */
export function decodePart(entry: IKeyValue): Part {
  const { at, by, v } = parse(entry, entry.value.toString());
  if (!Array.isArray(v)) throw unreadable(entry);
  return { values: v, stamp: { at, by } };
}

/** A field's version: the revision of its head. Revisions count all writes of an etcd cluster, so they never restart. */
export function versionOf(entry: IKeyValue): number {
  return Number(entry.mod_revision);
}

/** A field with what it takes in the store. */
export interface StoredField extends ContextField {
  /** Bytes of compact JSON, name included. */
  bytes: number;
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
  const { at: updated_at, by: updated_by } = head.stamp;
  const bytes = Buffer.byteLength(field) + entry.value.length;
  fields.set(field, { value: head.value, version: versionOf(entry), updated_at, updated_by, bytes });
}

/** A list in order: what it was set to, what was folded, and the appends since by the revision that made them. */
function listOf(field: string, head: IKeyValue, { base, chunk, item }: Sorted): StoredField {
  const entries = [...base, ...chunk, ...byRevision(item)];
  const parts = entries.map(decodePart);
  const stamp = parts.at(-1)?.stamp ?? { at: new Date(0).toISOString(), by: 'unknown' };
  const bytes = entries.reduce((sum, entry) => sum + entry.value.length, Buffer.byteLength(field));
  const value = parts.flatMap(({ values }) => values);
  return { value, version: versionOf(head), updated_at: stamp.at, updated_by: stamp.by, bytes };
}

/** Oldest first. Appends of one transaction share one key, so no two have the same revision. */
export function byRevision(entries: readonly IKeyValue[]): IKeyValue[] {
  return [...entries].sort((a, b) => Number(a.mod_revision) - Number(b.mod_revision));
}

function parse(entry: IKeyValue, text: string): Stamp & { v: Json } {
  try {
    const value = JSON.parse(text) as Partial<Stamp & { v: Json }>;
    if (typeof value.at === 'string' && typeof value.by === 'string' && value.v !== undefined)
      return value as Stamp & { v: Json };
  } catch {
    // said below
  }
  throw unreadable(entry);
}

function unreadable({ key }: IKeyValue): ReachError {
  return new ReachError('internal', `The value of ${key.toString()} in etcd cannot be read; delete it to go on`);
}
