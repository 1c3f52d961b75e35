/** Values on their way into the store, as compact JSON. */
import type { ContextOperation } from '../protocol/context';
import type { Json } from '../protocol/shapes';

/** A large value that was read by a thread: its text, which nobody here has to parse. */
export class LargeValue {
  constructor(
    readonly json: Uint8Array,
    readonly isList: boolean,
    /** Of the text, hex. */
    readonly sha256: string,
  ) {}
}

export type NewValue = Json | LargeValue;

type WithText<Operation> = Operation extends { value: Json }
  ? Omit<Operation, 'value'> & { value: NewValue }
  : Operation;

/** An operation of a batch; its value may be a text that was read elsewhere. */
export type PatchOperation = WithText<ContextOperation>;

/** A value as compact JSON. */
export interface Encoded {
  json: string | Uint8Array;
  bytes: number;
  isList: boolean;
  /** Hex, where it is known. */
  sha256?: string;
}

export function encode(value: NewValue): Encoded {
  if (value instanceof LargeValue) return { ...value, bytes: value.json.byteLength };
  const json = JSON.stringify(value);
  return { json, bytes: Buffer.byteLength(json), isList: Array.isArray(value) };
}

/** The text of an encoded value. */
export function textOf({ json }: Encoded): string {
  return typeof json === 'string' ? json : Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');
}

const COMMA = Buffer.from(',');

/** A list of values as the bytes of its compact JSON. */
export function listOf(values: readonly Encoded[]): Buffer {
  const parts = values.flatMap(({ json }, n) => [
    ...(n > 0 ? [COMMA] : []),
    typeof json === 'string' ? Buffer.from(json) : json,
  ]);
  return Buffer.concat([Buffer.from('['), ...parts, Buffer.from(']')]);
}
