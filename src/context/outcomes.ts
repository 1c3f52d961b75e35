import type { IKeyValue, ITxnResponse } from 'etcd3';
import { MAX_CONTEXT_VALUE_BYTES, type ContextConflict, type ContextPatched } from '../protocol/context';
import { toPointer } from '../protocol/json-pointer';
import { describeValue } from '../protocol/json-rules';
import { ReachError, type FieldError } from '../protocol/reach-error';
import type { Change, Changes } from './changes';
import type { ContextKeys } from './context-keys';
import { LargeValue } from './encoded';
import { decodeFields, decodeHead, type Content, type Head, type Stamp } from './stored';
import { foundBy, type ListState } from './transaction';

/** A conflict as it was found; its value is shown by whoever can read blobs. */
export type FoundConflict = Omit<ContextConflict, 'current_value' | 'current_value_ref'> & { content: Content | null };

/** What a failed batch is judged with. */
export interface Judging {
  keys: ContextKeys;
  show: (found: readonly FoundConflict[]) => Promise<ContextConflict[]>;
}

/** What a batch that was written did; all its fields have the revision of the transaction as their version. */
export function patchedBy(
  contextId: string,
  changes: Changes,
  { revision, stamp }: { revision: string; stamp: Stamp },
): ContextPatched {
  const written = { version: Number(revision), updated_at: stamp.at, updated_by: stamp.by };
  const entries = [...changes];
  const fields = entries.flatMap(([field, change]) => {
    if (change.kind === 'delete') return [];
    return [[field, isEchoed(change) ? { value: change.value, ...written } : written] as const];
  });
  const deleted = entries.filter(([, { kind }]) => kind === 'delete').map(([field]) => field);
  return { context_id: contextId, fields: Object.fromEntries(fields), deleted } as ContextPatched;
}

/** Whoever sends megabytes knows them. */
function isEchoed(change: Change): change is Extract<Change, { kind: 'set' }> {
  if (change.kind !== 'set') return false;
  return !(change.value instanceof LargeValue) && change.body.bytes <= MAX_CONTEXT_VALUE_BYTES;
}

/**
 * What a batch that was not written ran into: throws when it can never be written as it stands, and else answers what is now
 * known of the fields that are appended to, for the next try.
 *
 * @throws ReachError `context_conflict` naming every field that is not at its base version; `invalid_request` for an append to
 *   what is no list
 */
export async function setbackOf(
  changes: Changes,
  response: ITxnResponse,
  { keys, show }: Judging,
): Promise<Map<string, ListState>> {
  const conflicts: { index: number; conflict: FoundConflict }[] = [];
  const notLists: FieldError[] = [];
  const states = new Map<string, ListState>();
  [...changes].forEach(([field, change], place) => {
    const found = foundBy(response, place);
    const conflict = conflictOf(field, change.base, found, keys);
    if (conflict !== null) conflicts.push({ index: guardOf(change), conflict });
    if (conflict !== null || change.kind !== 'append') return;
    const entry = found.find(({ key }) => key.toString() === keys.head(field));
    const head = entry === undefined ? null : decodeHead(entry);
    if (head !== null && head.kind !== 'list') notLists.push(notAList(change.index, head));
    else states.set(field, head === null ? 'absent' : 'list');
  });
  if (conflicts.length > 0) throw await conflictError(conflicts, show);
  if (notLists.length > 0) throw appendError(notLists);
  return states;
}

function guardOf(change: Change): number {
  return change.kind === 'append' ? change.guardIndex : change.index;
}

function conflictOf(field: string, base: number | null, found: IKeyValue[], keys: ContextKeys): FoundConflict | null {
  if (base === null) return null;
  const current = decodeFields(found, keys).get(field);
  const version = current?.version ?? 0;
  if (version === base) return null;
  return { field, base_version: base, current_version: version, content: current?.content ?? null };
}

async function conflictError(
  found: readonly { index: number; conflict: FoundConflict }[],
  show: Judging['show'],
): Promise<ReachError> {
  const errors = found.map(({ index, conflict }) => findingOf(index, conflict));
  const names = found.map(({ conflict }) => JSON.stringify(conflict.field.slice(0, 60)));
  const [what, was] = found.length === 1 ? ['Field', 'is'] : ['Fields', 'are'];
  const message = `${what} ${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and others' : ''} ${was} not at the base version, so nothing was written; start again from the current values in \`conflicts\``;
  return new ReachError('context_conflict', message, {
    errors,
    extra: { conflicts: await show(found.map(({ conflict }) => conflict)) },
  });
}

function findingOf(index: number, { base_version: base, current_version: current }: FoundConflict): FieldError {
  const is = current === 0 ? 'the field does not exist' : `the field is at version ${current}`;
  const wanted = base === 0 ? 'it must not exist' : `base_version is ${base}`;
  return {
    pointer: toPointer(['operations', index, 'base_version']),
    message: `${wanted}, but ${is}`,
    fix: `make the change to the current value and send base_version ${current}`,
  };
}

function notAList(index: number, head: Exclude<Head, { kind: 'list' }>): FieldError {
  const what = head.kind === 'value' ? describeValue(head.value) : 'a large value';
  return {
    pointer: toPointer(['operations', index, 'field']),
    message: `is not a list (it holds ${what}), so nothing can be appended`,
    fix: 'set the field to a list first, or append to another field',
  };
}

function appendError(errors: FieldError[]): ReachError {
  const [first] = errors;
  return new ReachError('invalid_request', `${first!.pointer} ${first!.message}; ${first!.fix}`, { errors });
}
