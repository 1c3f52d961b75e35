/** From a request's body and headers to a complete envelope (R2). */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import {
  envelopeSchema,
  idempotencyKeySchema,
  timeoutMsSchema,
  type Envelope,
  type EnvelopeInput,
  type KeyOrigin,
} from './envelope';
import { resolvePointer } from './json-pointer';
import { describeValue, type PlainObject } from './json-rules';
import { DEFAULT_ASYNC_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS } from './limits';
import type { FieldError } from './reach-error';
import { assertPlainJson } from './strict-json';
import { validate } from './findings';

/** Headers that say the same as fields of the envelope. */
export interface EnvelopeHeaders {
  /** `Idempotency-Key`, taken literally (quotes are part of the key). */
  idempotencyKey?: string;
  /** `X-Reach-Timeout-Ms`. */
  timeoutMs?: string;
}

/**
 * The envelope in a body, with what the headers add.
 * @throws ReachError `invalid_request` with every finding, also when a header contradicts the body.
 */
export function parseEnvelope(body: unknown, headers: EnvelopeHeaders = {}): EnvelopeInput {
  return parseWithHeaders(envelopeSchema, body, headers);
}

/** {@link parseEnvelope} for an envelope of any kind that has these fields. */
export function parseWithHeaders<S extends z.ZodType>(schema: S, body: unknown, headers: EnvelopeHeaders): z.output<S> {
  assertPlainJson(body);
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return validate(schema, body);
  const before: FieldError[] = [];
  const merged: PlainObject = { ...body };
  mergeHeader(merged, before, {
    field: 'idempotency_key',
    header: 'Idempotency-Key',
    value: keyFromHeader(headers, before),
  });
  mergeHeader(merged, before, {
    field: 'timeout_ms',
    header: 'X-Reach-Timeout-Ms',
    value: timeoutFromHeader(headers, before),
  });
  return validate(schema, merged, { before });
}

interface HeaderValue {
  field: 'idempotency_key' | 'timeout_ms';
  header: string;
  value: string | number | undefined;
}

function mergeHeader(merged: PlainObject, findings: FieldError[], { field, header, value }: HeaderValue): void {
  if (value === undefined) return;
  if (Object.hasOwn(merged, field) && merged[field] !== value) {
    const message = `differs from the ${header} header (${describeValue(merged[field])}, header ${describeValue(value)})`;
    findings.push({ pointer: `/${field}`, message, fix: 'send one of them, or the same in both' });
  } else {
    merged[field] = value;
  }
}

function keyFromHeader({ idempotencyKey }: EnvelopeHeaders, findings: FieldError[]): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  const key = headerText(idempotencyKey);
  if (idempotencyKeySchema.safeParse(key).success) return key;
  const message = `is not valid in the Idempotency-Key header (got ${describeValue(key)})`;
  findings.push({ pointer: '/idempotency_key', message, fix: 'send 1 to 256 characters without control characters' });
  return undefined;
}

/** Node hands header bytes over as Latin-1; a UTF-8 key is read as what it is, so header and body can agree. */
function headerText(value: string): string {
  if (!/[\u0080-\u00ff]/.test(value)) return value;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

function timeoutFromHeader({ timeoutMs }: EnvelopeHeaders, findings: FieldError[]): number | undefined {
  if (timeoutMs === undefined) return undefined;
  const parsed = parseTimeoutHeader(timeoutMs);
  if (parsed === null) {
    const message = `is not valid in the X-Reach-Timeout-Ms header (got ${describeValue(timeoutMs)})`;
    findings.push({ pointer: '/timeout_ms', message, fix: `send a whole number from 1 to ${MAX_TIMEOUT_MS}` });
    return undefined;
  }
  return parsed;
}

/** A deadline header in milliseconds: decimal digits only, within limits; null otherwise (`1e3`, `0x10`, `5s`, `+5`). */
export function parseTimeoutHeader(text: string): number | null {
  if (!/^[1-9]\d{0,15}$/.test(text)) return null;
  const value = Number(text);
  return timeoutMsSchema.safeParse(value).success ? value : null;
}

/** What completes an envelope. */
export interface CompletionContext {
  /** The ability's declaration, when it is known. */
  capability?: { idempotency_from?: string };
  /** Who sends, by its credentials. */
  principal: string;
  newMessageId: () => string;
}

/**
 * Fills what depends on other fields: the deadline by mode, message id, source, and the idempotency key:
 * the caller's, else the payload's value at the ability's `idempotency_from` (text or a number), else the message id.
 * Whether the principal may call itself `source_agent` is the gateway's to check.
 */
export function completeEnvelope(input: EnvelopeInput, context: CompletionContext): Envelope {
  const messageId = input.message_id ?? context.newMessageId();
  const key = chooseKey(input, messageId, context.capability?.idempotency_from);
  return {
    ...input,
    payload: input.payload ?? {},
    timeout_ms: input.timeout_ms ?? (input.mode === 'async' ? DEFAULT_ASYNC_TIMEOUT_MS : DEFAULT_TIMEOUT_MS),
    message_id: messageId,
    source_agent: input.source_agent ?? context.principal,
    idempotency_key: key.value,
    key_origin: key.origin,
  };
}

function chooseKey(input: EnvelopeInput, messageId: string, from?: string): { value: string; origin: KeyOrigin } {
  if (input.idempotency_key !== undefined) return { value: input.idempotency_key, origin: 'caller' };
  const value = from === undefined ? undefined : resolvePointer(input.payload ?? {}, from);
  const usable = typeof value === 'number' || (typeof value === 'string' && value !== '');
  return usable ? { value: shortKey(String(value)), origin: 'payload' } : { value: messageId, origin: 'message' };
}

/** A value that is no valid key (too long, control characters) is hashed: still stable, still one per value. */
function shortKey(value: string): string {
  if (idempotencyKeySchema.safeParse(value).success) return value;
  return `sha256:${createHash('sha256').update(value).digest('hex')}`;
}
