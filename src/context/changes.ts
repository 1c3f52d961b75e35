import type { FieldVersion } from '../protocol/context';
import { toPointer } from '../protocol/json-pointer';
import { forbiddenKeyFinding } from '../protocol/json-rules';
import { ReachError, type FieldError } from '../protocol/reach-error';
import { encode, type Encoded, type NewValue, type PatchOperation } from './encoded';

/** What is to become of one field. `index` is the place of its first operation, for findings. */
export type Change =
  | { kind: 'set'; index: number; value: NewValue; body: Encoded; base: FieldVersion | null }
  /** `guardIndex`: the operation that named the base version. */
  | { kind: 'append'; index: number; bodies: Encoded[]; base: FieldVersion | null; guardIndex: number }
  | { kind: 'delete'; index: number; base: FieldVersion | null };

/** Changes by field; a base of null overwrites, or adds to, whatever there is. */
export type Changes = Map<string, Change>;

/**
 * The operations of a batch by field. A field stands in one of them only, but for appends, which are made in order: what a
 * base version says of a field that the batch has changed before would be anybody's guess. Appends to one field may name the
 * version that it had before the batch, each the same.
 *
 * @param maxValueBytes of a value as compact JSON
 * @throws ReachError `forbidden_key`, `payload_too_large`, `invalid_request`
 */
export function changesOf(operations: readonly PatchOperation[], maxValueBytes: number): Changes {
  refuseNames(operations);
  const changes: Changes = new Map();
  const errors: FieldError[] = [];
  operations.forEach((operation, index) => {
    const change = changeOf(operation, { index, maxValueBytes });
    const before = changes.get(operation.field);
    if (before === undefined) changes.set(operation.field, change);
    else if (before.kind !== 'append' || change.kind !== 'append')
      errors.push(repeatedField(operation.field, index, before.index));
    else if (before.base !== null && change.base !== null && before.base !== change.base)
      errors.push(otherVersion(index, before.guardIndex));
    else changes.set(operation.field, joined(before, change));
  });
  if (errors.length === 0) return changes;
  throw new ReachError('invalid_request', `${errors[0]!.pointer} ${errors[0]!.message}; ${errors[0]!.fix}`, { errors });
}

/** Bytes that a change writes, as compact JSON. */
export function bytesOf(change: Change): number {
  if (change.kind === 'delete') return 0;
  if (change.kind === 'set') return change.body.bytes;
  return change.bodies.reduce((sum, { bytes }) => sum + bytes + 1, 1);
}

function changeOf(
  operation: PatchOperation,
  { index, maxValueBytes }: { index: number; maxValueBytes: number },
): Change {
  const base = operation.force === true ? null : (operation.base_version ?? null);
  switch (operation.op) {
    case 'set':
      return { kind: 'set', index, value: operation.value, body: body(operation.value, index, maxValueBytes), base };
    case 'append':
      return { kind: 'append', index, bodies: [body(operation.value, index, maxValueBytes)], base, guardIndex: index };
    case 'delete':
      return { kind: 'delete', index, base };
  }
}

type Append = Extract<Change, { kind: 'append' }>;

function joined(before: Append, next: Append): Append {
  const { base, guardIndex } = before.base === null ? next : before;
  return { ...before, bodies: [...before.bodies, ...next.bodies], base, guardIndex };
}

function body(value: NewValue, index: number, maxValueBytes: number): Encoded {
  const encoded = encode(value);
  if (encoded.bytes <= maxValueBytes) return encoded;
  const pointer = toPointer(['operations', index, 'value']);
  const message = `must not be over ${maxValueBytes} bytes as compact JSON; it has ${encoded.bytes}`;
  const fix = 'keep a reference in the context instead';
  throw new ReachError('payload_too_large', `${pointer} ${message}; ${fix}`, {
    errors: [{ pointer, message, fix }],
    extra: { details: { limit_bytes: maxValueBytes } },
  });
}

/** `__proto__` as a name would become a key of every answer. */
function refuseNames(operations: readonly PatchOperation[]): void {
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

function otherVersion(index: number, first: number): FieldError {
  return {
    pointer: toPointer(['operations', index, 'base_version']),
    message: `is another version of the field than in operation ${first}`,
    fix: 'name the version that was read before the batch, once',
  };
}
