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
 * it returns operations.
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

/** The operations of an update, each from the version that was read. Fields that stay as they are need none. */
export async function operationsOf<Fields extends object>(
  context: Context,
  change: ContextUpdate<Fields>,
): Promise<ContextOperation[]> {
  const before = textsOf(context);
  const draft = valuesOf(context);
  const said = await change(draft as ContextView<Fields>, context);
  if (Array.isArray(said)) return (said as readonly ContextChange[]).map((each) => guarded(each, context));
  const after = said === undefined ? withDeletions(before, draft) : new Map(Object.entries(said as object));
  const changes = [...after].filter(([field, value]) => exactText(field, value) !== before.get(field));
  return changes.map(([field, value]) =>
    guarded(value === undefined ? { op: 'delete', field } : { op: 'set', field, value: value as Json }, context),
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
