import { MAX_CONTEXT_VALUE_BYTES, type ContextOperation, type FieldVersion } from '../protocol/context';
import { toPointer } from '../protocol/json-pointer';
import { forbiddenKeyFinding } from '../protocol/json-rules';
import { ReachError, type FieldError } from '../protocol/reach-error';
import type { Json } from '../protocol/shapes';

/** What is to become of one field. `index` is the place of its first operation, for findings. */
export type Change =
  | { kind: 'set'; index: number; value: Json; text: string; base: FieldVersion | null }
  | { kind: 'append'; index: number; texts: string[] }
  | { kind: 'delete'; index: number; base: FieldVersion | null };

/** Changes by field; a base of null overwrites whatever there is. */
export type Changes = Map<string, Change>;

/**
 * The operations of a batch by field. A field stands in one of them only, but for appends, which are made in order: what a
 * base version says of a field that the batch has changed before would be anybody's guess.
 *
 * @throws ReachError `forbidden_key`, `payload_too_large`, `invalid_request`
 */
export function changesOf(operations: readonly ContextOperation[]): Changes {
  refuseNames(operations);
  const changes: Changes = new Map();
  const repeated: FieldError[] = [];
  operations.forEach((operation, index) => {
    const before = changes.get(operation.field);
    if (before === undefined) changes.set(operation.field, changeOf(operation, index));
    else if (before.kind === 'append' && operation.op === 'append') before.texts.push(textOf(operation.value, index));
    else repeated.push(repeatedField(operation.field, index, before.index));
  });
  if (repeated.length === 0) return changes;
  throw new ReachError('invalid_request', `${repeated[0]!.pointer} ${repeated[0]!.message}; ${repeated[0]!.fix}`, {
    errors: repeated,
  });
}

function changeOf(operation: ContextOperation, index: number): Change {
  const base = operation.force === true ? null : (operation.base_version ?? null);
  switch (operation.op) {
    case 'set':
      return { kind: 'set', index, value: operation.value, text: textOf(operation.value, index), base };
    case 'append':
      return { kind: 'append', index, texts: [textOf(operation.value, index)] };
    case 'delete':
      return { kind: 'delete', index, base };
  }
}

function textOf(value: Json, index: number): string {
  const text = JSON.stringify(value);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_CONTEXT_VALUE_BYTES) return text;
  const pointer = toPointer(['operations', index, 'value']);
  const message = `must not be over ${MAX_CONTEXT_VALUE_BYTES} bytes as compact JSON; it has ${bytes}`;
  throw new ReachError('payload_too_large', `${pointer} ${message}; keep a reference in the context instead`, {
    errors: [{ pointer, message, fix: 'keep a reference in the context instead' }],
  });
}

/** `__proto__` as a name would become a key of every answer. */
function refuseNames(operations: readonly ContextOperation[]): void {
  const errors = operations.flatMap(({ field }, index) =>
    field === '__proto__' ? [forbiddenKeyFinding(toPointer(['operations', index, 'field']))] : [],
  );
  const [first] = errors;
  if (first === undefined) return;
  throw new ReachError('forbidden_key', `${first.pointer} ${first.message}; ${first.fix}`, { errors });
}

function repeatedField(field: string, index: number, first: number): FieldError {
  return {
    pointer: toPointer(['operations', index, 'field']),
    message: `names ${JSON.stringify(field.slice(0, 60))}, which operation ${first} changes already`,
    fix: 'change a field once in a batch; only appends may repeat',
  };
}
