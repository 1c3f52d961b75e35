/** What a batch in the body of a request says. Pure; the same in a thread and without one. */
import { createHash } from 'node:crypto';
import { assertFewValues } from '../payloads/value-count';
import { contextPatchSchema, type ContextOperation } from '../protocol/context';
import { parseJsonStrict } from '../protocol/strict-json';
import { validate } from '../protocol/validation';

/** What is smaller cannot hold enough values to matter, bytes. */
const COUNTED_BYTES = 1_048_576;

/** An operation, and its value as text where that is long. */
export interface ReadOperation {
  /** Without its value where `cut` has it. */
  operation: ContextOperation;
  cut?: { json: Uint8Array; isList: boolean; sha256: string };
}

/**
 * The operations of a body.
 *
 * @param cutBytes values over so many bytes of compact JSON are handed over as text
 * @throws ReachError `payload_too_large` for too many values, the codes of strict JSON, `invalid_request`
 */
export function readPatch(body: Uint8Array, cutBytes: number): ReadOperation[] {
  if (body.byteLength > COUNTED_BYTES) assertFewValues(body);
  const { operations } = validate(contextPatchSchema, parseJsonStrict(body));
  return (operations as ContextOperation[]).map((operation) => cut(operation, cutBytes));
}

function cut(operation: ContextOperation, cutBytes: number): ReadOperation {
  if (operation.op === 'delete' || cutBytes === Infinity) return { operation };
  const json = new TextEncoder().encode(JSON.stringify(operation.value));
  if (json.byteLength <= cutBytes) return { operation };
  const sha256 = createHash('sha256').update(json).digest('hex');
  const isList = Array.isArray(operation.value);
  return { operation: { ...operation, value: null }, cut: { json, isList, sha256 } };
}
