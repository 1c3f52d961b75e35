/**
 * What answers tell about writes that had none. Clients write each value once, so whoever sees it has seen its write, and with it
 * the write's version. That is no guess: it only says out loud what every possible order must have, and spares the search from
 * trying the others.
 */
import type { ContextOperation } from '../../../src/protocol/context';
import type { Json } from '../../../src/protocol/shapes';
import type { Operation, Output } from './history';

/** What is known of the operations of one context. */
export interface Inference {
  /** The operations; writes without an answer whose version was seen have it as their output. */
  operations: Operation[];
  /** Writes of which nobody saw anything. */
  unseen: ReadonlySet<Operation>;
  /** What stands before an appended value wherever it was seen, by field and value; null for the head of the list. */
  before: ReadonlyMap<string, string | null>;
  /** Writes whose version is known, by version: they can only have happened in this order. */
  byVersion: readonly Operation[];
}

/** Field and value as a key. */
export const valueKey = (field: string, text: string): string => `${field} ${text}`;

/** Looks through the answers of one context. */
export function infer(operations: readonly Operation[]): Inference {
  const writers = writersOf(operations);
  const seen = new Map<Operation, number | null>();
  const before = new Map<string, string | null>();
  for (const { field, value, version } of operations.flatMap(({ output }) => sightingsOf(output)))
    for (const { text, previous, isLast } of elementsOf(value)) {
      const writer = writers.get(valueKey(field, text));
      if (!writer) continue;
      if (previous !== undefined) before.set(valueKey(field, text), previous);
      if (isLast) seen.set(writer, version);
      else if (!seen.has(writer)) seen.set(writer, null);
    }
  const told = operations.map((operation) => withVersion(operation, seen.get(operation)));
  return {
    operations: told,
    unseen: new Set(told.filter((told, place) => isUnknownWrite(told) && !seen.has(operations[place]!))),
    before,
    byVersion: told.filter((each) => versionOf(each) !== null).sort((a, b) => versionOf(a)! - versionOf(b)!),
  };
}

/** The version of a write, where it is known. */
export function versionOf({ output }: Operation): number | null {
  return output.kind === 'patched' ? (Object.values(output.versions)[0] ?? null) : null;
}

/** Who wrote a value, where only one did. */
function writersOf(operations: readonly Operation[]): Map<string, Operation | null> {
  const writers = new Map<string, Operation | null>();
  for (const operation of operations)
    for (const { field, value } of writesOf(operation))
      for (const { text } of elementsOf(value)) {
        const key = valueKey(field, text);
        writers.set(key, writers.has(key) ? null : operation);
      }
  return writers;
}

function writesOf({ input }: Operation): { field: string; value: Json }[] {
  if (input.kind !== 'patch') return [];
  return input.operations.flatMap((each) => (each.op === 'delete' ? [] : [{ field: each.field, value: each.value }]));
}

function sightingsOf(output: Output): { field: string; value: Json; version: number }[] {
  if (output.kind === 'fields') return Object.entries(output.fields).map(([field, seen]) => ({ field, ...seen }));
  if (output.kind !== 'conflict') return [];
  return output.conflicts
    .filter(({ current_version: version }) => version > 0)
    .map(({ field, current_value: value, current_version: version }) => ({ field, value, version }));
}

/** A list by its elements, anything else as it is. The version of a list is that of what wrote its last element. */
function elementsOf(value: Json): { text: string; previous: string | null | undefined; isLast: boolean }[] {
  if (!Array.isArray(value)) return [{ text: JSON.stringify(value), previous: undefined, isLast: true }];
  const texts = value.map((element) => JSON.stringify(element));
  return texts.map((text, n) => ({ text, previous: texts[n - 1] ?? null, isLast: n === texts.length - 1 }));
}

function isUnknownWrite(operation: Operation): boolean {
  return operation.output.kind === 'unknown' && writesOf(operation).length > 0;
}

function withVersion(operation: Operation, version: number | null | undefined): Operation {
  if (operation.output.kind !== 'unknown' || typeof version !== 'number') return operation;
  const { operations } = operation.input as { operations: readonly ContextOperation[] };
  const written = operations.filter(({ op }) => op !== 'delete').map(({ field }) => [field, version]);
  return { ...operation, output: { kind: 'patched', versions: Object.fromEntries(written) as Record<string, number> } };
}
