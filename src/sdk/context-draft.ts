import type { Context, ContextOperation } from '../protocol/context';
import { ReachError } from '../protocol/reach-error';
import type { Json, JsonObject } from '../protocol/shapes';

/** The current values of a context by field, to be looked at or changed: a copy, whose changes are what is written. */
export type ContextView<Fields extends object = JsonObject> = Partial<Fields>;

/** An operation of an update; the base version is the one that was read. */
export type ContextChange =
  | { op: 'set'; field: string; value: Json }
  | { op: 'append'; field: string; value: Json }
  | { op: 'delete'; field: string };

/**
 * What is to become of a context, without effects of its own: it may run several times. Either it changes the fields that
 * it is given (`delete fields.x` deletes), or it returns the fields to change (`undefined` deletes, what is not named stays), or
 * it returns operations. What it returns must not leave out a field that it changed as well.
 */
export type ContextUpdate<Fields extends object = JsonObject> = (
  fields: ContextView<Fields>,
  context: Context,
) =>
  | undefined
  | void
  | readonly ContextChange[]
  | { [Name in keyof Fields]?: Fields[Name] | undefined }
  | Promise<undefined | void | readonly ContextChange[] | { [Name in keyof Fields]?: Fields[Name] | undefined }>;

/**
 * The operations of an update, each from the version that was read. Fields that stay as they are need none.
 *
 * @throws ReachError `invalid_request` when what it returned is none of what it may be, or would lose what it changed
 */
export async function operationsOf<Fields extends object>(
  context: Context,
  change: ContextUpdate<Fields>,
): Promise<ContextOperation[]> {
  const before = textsOf(context);
  const draft = valuesOf(context);
  const said = await change(draft as ContextView<Fields>, context);
  const changed = changesOf(before, withDeletions(before, draft));
  if (said === undefined || said === draft) return changed.map((each) => guarded(each, context));
  const returned = returnedBy(said, before);
  const lost = changed.find((change) => !returned.some((each) => holds(each, change)));
  if (lost) throw misused(`changed \`${lost.field}\`, but what it returned does not have that`);
  return returned.map((each) => guarded(each, context));
}

function changesOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, unknown>): ContextChange[] {
  const changes = [...after].filter(([field, value]) => exactText(field, value) !== before.get(field));
  return changes.map(([field, value]) =>
    value === undefined ? { op: 'delete', field } : { op: 'set', field, value: value as Json },
  );
}

function returnedBy(said: unknown, before: ReadonlyMap<string, string>): readonly ContextChange[] {
  if (Array.isArray(said)) return said as readonly ContextChange[];
  if (isPlain(said)) return changesOf(before, new Map(Object.entries(said)));
  throw misused(`returned ${said === null ? 'null' : `a ${typeof said}`} that is neither fields nor operations`);
}

/** True where a returned change writes what was made of the field; an append is made from what was there. */
function holds(returned: ContextChange | null, change: ContextChange): boolean {
  if (returned?.field !== change.field) return false;
  return (
    returned.op === 'append' || exactText(change.field, valueOf(returned)) === exactText(change.field, valueOf(change))
  );
}

const valueOf = (change: ContextChange) => (change.op === 'delete' ? undefined : change.value);

/** Not an instance of a class; of any realm. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function misused(what: string): ReachError {
  return new ReachError(
    'invalid_request',
    `The function of the update ${what}; write \`(fields) => { fields.total = 2; }\` with braces, or return \`{ total: 2 }\` or operations`,
  );
}

function guarded(change: ContextChange, { fields }: Context): ContextOperation {
  if (change.op === 'append') return change;
  return { ...change, base_version: Object.hasOwn(fields, change.field) ? fields[change.field]!.version : 0 };
}

function textsOf({ fields }: Context): Map<string, string> {
  return new Map(Object.entries(fields).map(([field, { value }]) => [field, JSON.stringify(value)]));
}

/** A copy; without a prototype, so that a field named `constructor` is there only when it was written. */
function valuesOf(context: Context): Record<string, Json> {
  const values = Object.create(null) as Record<string, Json>;
  for (const [field, text] of textsOf(context)) values[field] = JSON.parse(text) as Json;
  return values;
}

function withDeletions(
  before: ReadonlyMap<string, string>,
  after: Record<string, Json>,
): Map<string, Json | undefined> {
  const all = new Map<string, Json | undefined>(Object.entries(after));
  for (const field of before.keys()) if (!Object.hasOwn(after, field)) all.set(field, undefined);
  return all;
}

/** As JSON; a number that it cannot hold is refused, not turned into null. @throws ReachError `invalid_request` */
function exactText(field: string, value: unknown): string | undefined {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'number' && !Number.isFinite(part))
      throw new ReachError(
        'invalid_request',
        `The field \`${field}\` would hold ${part}, which JSON cannot; write a text or null`,
      );
    return part;
  });
}
