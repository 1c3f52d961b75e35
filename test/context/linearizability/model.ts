/**
 * A context as a sequential object: a map of versioned registers with compare-and-set, append, delete and batches. It does not
 * choose versions; it holds that those that were answered only grow, over the whole life of the context's id.
 */
import type { ContextOperation } from '../../../src/protocol/context';
import type { Json } from '../../../src/protocol/shapes';
import type { Input, Output } from './history';

/** A version that was given in an answer nobody got: all that is known is which ones it lies between. */
interface Unseen {
  after: number;
  before: number;
}

interface Register {
  /** Compact JSON. */
  text: string;
  version: number | Unseen;
}

/** Immutable. */
export interface State {
  readonly fields: ReadonlyMap<string, Register>;
  /** The greatest version given so far, deleted fields included. */
  readonly last: number;
}

export const EMPTY: State = { fields: new Map(), last: 0 };

/** The state after an operation that was answered so, or null where no such answer is possible. */
export function step(state: State, input: Input, output: Output): State | null {
  switch (output.kind) {
    case 'unknown':
      return applyUnseen(state, input);
    case 'fields':
      return seeAll(state, output.fields);
    case 'absent':
      return state.fields.size === 0 ? state : null;
    case 'deleted':
      return state.fields.size === 0 ? null : { ...state, fields: new Map() };
    case 'patched':
      return input.kind === 'patch' ? applySeen(state, input.operations, output.versions) : null;
    case 'conflict':
      return input.kind === 'patch' ? seeConflicts(state, input.operations, output.conflicts) : null;
    case 'no-list':
      return input.kind === 'patch' ? seeRefusal(state, input.operations) : null;
  }
}

/** A text that two states share only if nothing can tell them apart. */
export function fingerprint({ fields, last }: State): string {
  const unseen: Unseen[] = [];
  const nameOf = (version: Register['version']) => {
    if (typeof version === 'number') return version;
    if (!unseen.includes(version)) unseen.push(version);
    return [unseen.indexOf(version), version];
  };
  const entries = [...fields].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([last, entries.map(([name, { text, version }]) => [name, text, nameOf(version)])]);
}

/** A read sees every field, and nothing else. */
function seeAll(state: State, fields: Record<string, { value: Json; version: number }>): State | null {
  const names = Object.keys(fields);
  if (names.length !== state.fields.size || names.length === 0) return null;
  let current: State | null = state;
  for (const name of names) {
    const { value, version } = fields[name]!;
    if (state.fields.get(name)?.text !== JSON.stringify(value)) return null;
    current = current && seeVersion(current, name, version);
  }
  return current;
}

/** The state with it known that a field is at this version, or null if it is not. */
function seeVersion(state: State, name: string, version: number): State | null {
  const register = state.fields.get(name);
  if (register === undefined) return version === 0 ? state : null;
  if (typeof register.version === 'number') return register.version === version ? state : null;
  const unseen = register.version;
  if (version <= unseen.after || version >= unseen.before) return null;
  // All that one batch wrote has one version.
  const fields = new Map(
    [...state.fields].map(([field, each]) => [field, each.version === unseen ? { ...each, version } : each] as const),
  );
  return { fields, last: Math.max(state.last, version) };
}

/** A batch that was answered: every base version held, and its own is greater than all before. */
function applySeen(
  state: State,
  operations: readonly ContextOperation[],
  versions: Record<string, number>,
): State | null {
  const current = seeBases(state, operations);
  if (current === null || refusesAppend(current, operations)) return null;
  const written = new Set(operations.filter(({ op }) => op !== 'delete').map(({ field }) => field));
  const given = Object.entries(versions);
  if (given.length !== written.size || given.some(([field]) => !written.has(field))) return null;
  const [first] = given;
  if (first === undefined) return { ...current, fields: writtenTo(current, operations, 0) };
  const version = first[1];
  if (version <= current.last || given.some(([, each]) => each !== version)) return null;
  const fields = writtenTo(bounded(current, version), operations, version);
  return { fields, last: version };
}

/** The state with it known that every base version held, or null if one did not. */
function seeBases(state: State, operations: readonly ContextOperation[]): State | null {
  let current: State | null = state;
  for (const operation of operations) {
    const base = baseOf(operation);
    if (base !== null) current = current && seeVersion(current, operation.field, base);
  }
  return current;
}

/** An append is refused only where nothing conflicts. */
function seeRefusal(state: State, operations: readonly ContextOperation[]): State | null {
  return refusesAppend(state, operations) ? seeBases(state, operations) : null;
}

/** What nobody has seen the version of was written before what comes now. */
function bounded(state: State, before: number): State {
  const unseen = new Map<Unseen, Unseen>();
  const fields = [...state.fields].map(([field, register]) => {
    const { version } = register;
    if (typeof version === 'number' || version.before <= before) return [field, register] as const;
    if (!unseen.has(version)) unseen.set(version, { ...version, before });
    return [field, { ...register, version: unseen.get(version)! }] as const;
  });
  return { ...state, fields: new Map(fields) };
}

/** It may have happened, if it could. Left to the end of the history, it has not. */
function applyUnseen(state: State, input: Input): State {
  if (input.kind === 'get') return state;
  if (input.kind === 'delete') return state.fields.size === 0 ? state : { ...state, fields: new Map() };
  const { operations } = input;
  const possible = operations.every((operation) => {
    const base = baseOf(operation);
    return base === null || mayBe(state, operation.field, base);
  });
  if (!possible || refusesAppend(state, operations)) return state;
  const version: Unseen = { after: state.last, before: Number.POSITIVE_INFINITY };
  return { fields: writtenTo(state, operations, version), last: state.last };
}

function mayBe(state: State, name: string, version: number): boolean {
  const current = state.fields.get(name)?.version ?? 0;
  return typeof current === 'number' ? current === version : version > current.after && version < current.before;
}

function writtenTo(
  state: State,
  operations: readonly ContextOperation[],
  version: number | Unseen,
): Map<string, Register> {
  const fields = new Map(state.fields);
  for (const operation of operations) {
    const { field } = operation;
    if (operation.op === 'delete') fields.delete(field);
    else if (operation.op === 'set') fields.set(field, { text: JSON.stringify(operation.value), version });
    else fields.set(field, { text: appended(fields.get(field)?.text ?? '[]', operation.value), version });
  }
  return fields;
}

function appended(list: string, value: Json): string {
  const text = JSON.stringify(value);
  return list === '[]' ? `[${text}]` : `${list.slice(0, -1)},${text}]`;
}

function refusesAppend(state: State, operations: readonly ContextOperation[]): boolean {
  return operations.some(({ op, field }) => op === 'append' && state.fields.get(field)?.text.startsWith('[') === false);
}

/** A conflict names every field that is not at its base version, and no other, and tells the truth about each. */
function seeConflicts(
  state: State,
  operations: readonly ContextOperation[],
  conflicts: Extract<Output, { kind: 'conflict' }>['conflicts'],
): State | null {
  let current: State | null = state;
  const told = new Map(conflicts.map((conflict) => [conflict.field, conflict]));
  if (told.size === 0 || told.size !== conflicts.length) return null;
  for (const operation of operations) {
    const conflict = told.get(operation.field);
    const base = baseOf(operation);
    if (current === null) return null;
    if (conflict === undefined) {
      if (base !== null) current = seeVersion(current, operation.field, base);
      continue;
    }
    told.delete(operation.field);
    if (base === null || conflict.base_version !== base || conflict.current_version === base) return null;
    const text = current.fields.get(operation.field)?.text ?? 'null';
    if (text !== JSON.stringify(conflict.current_value)) return null;
    current = seeVersion(current, operation.field, conflict.current_version);
  }
  return told.size === 0 ? current : null;
}

function baseOf(operation: ContextOperation): number | null {
  return operation.op === 'append' || operation.force === true ? null : (operation.base_version ?? null);
}
