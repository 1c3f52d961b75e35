/** What is done with the bytes of a large payload, in one go: hash, strict parse, schema, and where a member is. Pure. */
import { createHash } from 'node:crypto';
import { canonicalDigest, type CanonicalDigest } from '../protocol/identity';
import { validatePayload, type JsonSchema } from '../protocol/json-schema';
import { ReachError, type FieldError } from '../protocol/reach-error';
import type { Json, JsonObject } from '../protocol/shapes';
import { parseJsonStrict, type StrictJsonOptions } from '../protocol/strict-json';
import { memberRange } from './member-range';
import { assertFewValues } from './value-count';
import { outlineOf } from './outline';

/** What is wanted of the content. */
export interface ReadOrder {
  /** How faults of the document are told. */
  strict?: Pick<StrictJsonOptions, 'errorCode' | 'ownCodes' | 'what'>;
  /** The SHA-256 that the content as it came must have, hex. */
  sha256?: string;
  /** It is known to be a strict JSON object: parsed without a second look. */
  trusted?: true;
  /** The content is `{[unwrap]: …}`; everything else is said of the value. */
  unwrap?: string;
  /** Find this top-level member. */
  locate?: string;
  /** Check against this schema. */
  schema?: JsonSchema;
  /** Say what each of these schemas finds wrong, and hand over an outline instead of the value. */
  outlineFor?: JsonSchema[];
  /** Hash it as canonical JSON, too. */
  canonical?: true;
  /** Hand the value over, not only what is said of it. */
  wantValue?: true;
  /** Do not hash. */
  noDigest?: true;
}

/** What was found. Offsets count from the first byte of the content as it came. */
export interface ReadFindings {
  /** The bytes of the object: the whole content, without a byte order mark, or the unwrapped value. */
  start: number;
  end: number;
  /** SHA-256 of those bytes, hex; empty when not wanted. */
  digest: string;
  /** Where the located member's value is, counted from `start`. */
  located?: [start: number, end: number];
  /** What the schema finds wrong. */
  errors: FieldError[];
  canonical?: CanonicalDigest;
  /** By schema of `outlineFor`. */
  found?: FieldError[][];
  outline?: JsonObject;
  value?: JsonObject;
}

/** What is smaller cannot hold enough values to matter, bytes. */
const COUNTED_BYTES = 1_048_576;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Reads content as ordered. @throws ReachError for what is no JSON object under the strict rules; `payload_too_large` for too many values */
export function readContent(content: Uint8Array, order: ReadOrder): ReadFindings {
  const sent = order.sha256 === undefined ? null : assertDigest(content, order.sha256);
  const start = BYTE_ORDER_MARK.every((byte, at) => content[at] === byte) ? BYTE_ORDER_MARK.length : 0;
  const whole = content.subarray(start);
  if (whole.byteLength > COUNTED_BYTES) assertFewValues(whole, { what: order.strict?.what });
  const parsed = order.trusted ? (JSON.parse(asText(whole)) as Json) : parseJsonStrict(whole, order.strict);
  const outer = objectOf(parsed, order);
  if (order.unwrap === undefined) {
    const digest = start === 0 ? sent : null;
    return findings(content, { start, end: content.byteLength, value: outer, digest }, order);
  }
  const range = memberRange(whole, order.unwrap);
  if (!range) throw notAnObject(order);
  const value = objectOf(outer[order.unwrap]!, order);
  return findings(content, { start: start + range[0], end: start + range[1], value, digest: null }, order);
}

function findings(
  content: Uint8Array,
  { start, end, value, digest }: { start: number; end: number; value: JsonObject; digest: string | null },
  order: ReadOrder,
): ReadFindings {
  const bytes = content.subarray(start, end);
  const located =
    order.locate === undefined || !Object.hasOwn(value, order.locate) ? null : memberRange(bytes, order.locate);
  return {
    start,
    end,
    digest: digest ?? (order.noDigest ? '' : sha256(bytes)),
    ...(located && { located }),
    errors: order.schema === undefined ? [] : validatePayload(order.schema, value),
    ...(order.canonical && { canonical: canonicalDigest(value) }),
    ...(order.outlineFor && {
      outline: outlineOf(value),
      found: order.outlineFor.map((schema) => validateSafely(schema, value)),
    }),
    ...(order.wantValue && { value }),
  };
}

/** A schema that cannot be evaluated excludes its own agent, not the others. */
function validateSafely(schema: JsonSchema, value: JsonObject): FieldError[] {
  try {
    return validatePayload(schema, value);
  } catch (caught) {
    return [{ pointer: '', message: `cannot be checked: ${ReachError.from(caught).message}` }];
  }
}

function assertDigest(content: Uint8Array, expected: string): string {
  const actual = sha256(content);
  if (actual === expected) return actual;
  const message = `is not that of the content, which is ${actual}`;
  const fix = 'send the chunks again under a new message id, or correct the checksum';
  throw new ReachError('invalid_request', `sha256 ${message}; ${fix}`, {
    errors: [{ pointer: '/sha256', message, fix }],
  });
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function asText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

function objectOf(value: Json, order: ReadOrder): JsonObject {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw notAnObject(order);
  return value;
}

function notAnObject({ strict }: ReadOrder): ReachError {
  const message = 'must be a JSON object';
  return new ReachError(strict?.errorCode ?? 'invalid_request', `${strict?.what ?? 'the payload'} ${message}`, {
    errors: [{ pointer: '', message }],
  });
}
