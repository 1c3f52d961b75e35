/**
 * CloudEvents 1.0 over HTTP (protocol binding § 3): structured and binary mode, under our own rules for JSON. Attributes are
 * judged by the CNCF's SDK; the body is parsed here, strictly.
 */
import { CloudEvent, ValidationError } from 'cloudevents';
import { ATTRIBUTE_NAME, type EventAttributes } from '../protocol/event-filter';
import { findingsError } from '../protocol/findings';
import { parseContentType } from '../protocol/media-type';
import { ReachError, type FieldError } from '../protocol/reach-error';
import type { Json, JsonObject } from '../protocol/shapes';
import { parseJsonStrict } from '../protocol/strict-json';

/** A CloudEvent as it came: attributes as text, and its data as a payload. */
export interface ReceivedEvent {
  attributes: EventAttributes;
  payload: JsonObject;
}

/** The parts of a request that carry an event. */
export interface EventMessage {
  headers: Record<string, string | string[] | undefined>;
  body: Uint8Array;
}

const STRUCTURED = 'application/cloudevents+json';
const HEADER_PREFIX = 'ce-';
const MAX_ATTRIBUTES = 64;
/** Longest value of the three attributes that make ids, lists and search attributes, characters. */
const MAX_NAMING_CHARS = 255;
const MAX_VALUE_CHARS = 2_048;
const NO_CONTROL = /^[^\p{Cc}]*$/u;

/**
 * Reads the event in a request.
 * @throws ReachError `invalid_request` with a JSON pointer for each attribute at fault, the codes of strict JSON for its data,
 *   `unsupported_media_type` for batches and for what is no CloudEvent
 */
export function readCloudEvent({ headers, body }: EventMessage): ReceivedEvent {
  const contentType = single(headers['content-type']);
  const mediaType = mediaTypeOf(contentType);
  if (mediaType.startsWith('application/cloudevents')) return structured(contentType, mediaType, body);
  if (Object.keys(headers).some((name) => name.startsWith(HEADER_PREFIX))) return binary(headers, body);
  throw notAnEvent('The request carries no CloudEvent', `send Content-Type: ${STRUCTURED}, or the ce-* headers`);
}

function structured(contentType: string | undefined, mediaType: string, body: Uint8Array): ReceivedEvent {
  if (mediaType !== STRUCTURED)
    throw notAnEvent(`Content-Type ${mediaType} is not supported here`, `send one event, as ${STRUCTURED}`);
  parseContentType(contentType);
  const document = parseJsonStrict(body);
  if (document === null || typeof document !== 'object' || Array.isArray(document))
    throw findingsError([{ pointer: '', message: 'must be an object: one CloudEvent' }]);
  const { data, data_base64: base64, ...attributes } = document;
  // `null` is the same as absent (JSON format § 2.2).
  if (typeof base64 === 'string') {
    if (data !== undefined)
      throw findingsError([{ pointer: '/data', message: 'excludes data_base64; send one of them' }]);
    if (!isBase64(base64)) throw findingsError([{ pointer: '/data_base64', message: 'must be base64 text' }]);
    return { attributes: checked(attributes), payload: { data_base64: base64 } };
  }
  if (base64 !== undefined && base64 !== null)
    throw findingsError([{ pointer: '/data_base64', message: 'must be base64 text' }]);
  return { attributes: checked(attributes), payload: payloadOf(data ?? null) };
}

function binary(headers: EventMessage['headers'], body: Uint8Array): ReceivedEvent {
  const contentType = single(headers['content-type']);
  const attributes: JsonObject = contentType === undefined ? {} : { datacontenttype: contentType };
  for (const [name, value] of Object.entries(headers))
    if (name.startsWith(HEADER_PREFIX)) attributes[name.slice(HEADER_PREFIX.length)] = headerText(single(value) ?? '');
  return { attributes: checked(attributes), payload: dataOf(contentType, body) };
}

/** JSON by content type is JSON; text is text; everything else is bytes. */
function dataOf(contentType: string | undefined, body: Uint8Array): JsonObject {
  if (body.byteLength === 0) return {};
  if (contentType === undefined)
    throw notAnEvent('The event has data and no Content-Type', 'say what the data is, such as application/json');
  const mediaType = mediaTypeOf(contentType);
  if (/^(application|text)\/([^;]+\+)?json$/.test(mediaType)) {
    parseContentType(contentType);
    return payloadOf(parseJsonStrict(body));
  }
  if (mediaType.startsWith('text/')) return { data: utf8(body) };
  return { data_base64: Buffer.from(body).toString('base64') };
}

/** A payload is an object: an event whose data is one is delivered as it is, all other data below `data`. */
function payloadOf(data: Json): JsonObject {
  if (data === null) return {};
  return typeof data === 'object' && !Array.isArray(data) ? data : { data };
}

function checked(given: JsonObject): EventAttributes {
  const attributes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const findings = Object.entries(attributes).flatMap(([name, value]) => faultOf(name, value));
  for (const name of ['id', 'source', 'type', 'specversion'])
    if (!Object.hasOwn(attributes, name))
      findings.push({ pointer: `/${name}`, message: 'is missing', fix: 'CloudEvents 1.0 requires it' });
  if (Object.keys(attributes).length > MAX_ATTRIBUTES)
    findings.push({ pointer: '', message: `must not have more than ${MAX_ATTRIBUTES} attributes` });
  if (findings.length === 0) findings.push(...faultsBySpec(attributes));
  if (findings.length > 0) throw findingsError(findings, { what: 'the event' });
  const told = Object.entries(attributes).filter(([name]) => name !== 'specversion');
  return Object.fromEntries(told.map(([name, value]) => [name, String(value)])) as EventAttributes;
}

function faultOf(name: string, value: Json | undefined): FieldError[] {
  const pointer = `/${name}`;
  if (!ATTRIBUTE_NAME.test(name) || name === 'data')
    return [{ pointer, message: 'is no attribute: names are lower-case letters and digits', fix: 'put it into data' }];
  if (name === 'specversion' && value !== '1.0') return [{ pointer, message: 'must be "1.0"' }];
  const naming = name === 'id' || name === 'source' || name === 'type';
  if (typeof value === 'boolean' || (typeof value === 'number' && isInt32(value)))
    return naming ? [{ pointer, message: 'must be text' }] : [];
  if (typeof value !== 'string')
    return [{ pointer, message: 'must be text, a boolean or a 32-bit integer', fix: 'put anything else into data' }];
  const limit = naming ? MAX_NAMING_CHARS : MAX_VALUE_CHARS;
  if (value.length === 0 || value.length > limit) return [{ pointer, message: `must have 1 to ${limit} characters` }];
  return NO_CONTROL.test(value) ? [] : [{ pointer, message: 'must not contain control characters' }];
}

/** What the specification's own schema finds: URIs, times. The constructor makes up what is missing, so that comes first. */
function faultsBySpec(attributes: JsonObject): FieldError[] {
  try {
    new CloudEvent(attributes as ConstructorParameters<typeof CloudEvent>[0]);
    return [];
  } catch (caught) {
    const found = caught instanceof ValidationError && Array.isArray(caught.errors) ? caught.errors : [];
    const faults = found.map((one) => one as { instancePath?: string; message?: string });
    if (faults.length === 0) return [{ pointer: '', message: `is not valid: ${firstLine(caught)}` }];
    return faults.map(({ instancePath = '', message = 'is not valid' }) => ({ pointer: instancePath, message }));
  }
}

const firstLine = (caught: unknown) => (caught instanceof Error ? caught.message : String(caught)).split('\n')[0]!;
const isInt32 = (value: number) => Number.isInteger(value) && Math.abs(value) <= 2_147_483_647;
const isBase64 = (text: string) => /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0;
const single = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);
const mediaTypeOf = (contentType: string | undefined) => (contentType ?? '').split(';')[0]!.trim().toLowerCase();

/** Values are percent-encoded UTF-8 (HTTP binding § 3.1.3.2); what is no such code stands for itself. */
function headerText(value: string): string {
  try {
    return decodeURIComponent(value.replace(/%(?![0-9a-fA-F]{2})/g, '%25'));
  } catch {
    return value;
  }
}

function utf8(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw findingsError([{ pointer: '/data', message: 'is not valid UTF-8', fix: 'encode text as UTF-8' }]);
  }
}

function notAnEvent(what: string, fix: string): ReachError {
  return new ReachError('unsupported_media_type', `${what}; ${fix}`, {
    errors: [{ pointer: '', message: what, fix }],
  });
}
