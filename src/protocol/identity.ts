/** Identities derived from content: reach ids (R2, R7) and the fingerprint that tells a repeat from a reused key. */
import { createHash } from 'node:crypto';
import type { Envelope } from './envelope';
import { MAX_PAYLOAD_BYTES } from './limits';
import type { Json, JsonObject } from './shapes';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
/** 160 bits: 32 characters of base 32, collision-free for any number of reaches. */
const ID_BYTES = 20;

/** What a caller's idempotency key is unique in. */
export interface KeyedId {
  tenant: string;
  /** Ability and agent asked for, see {@link targetOf}. */
  target: string;
  key: string;
}

/** What a message without a key is unique in. */
export interface MessageId {
  tenant: string;
  source: string;
  messageId: string;
}

/** The id of the reach that this key names: `r-` and 32 characters of base 32, safe in URLs and workflow ids. */
export function reachId({ tenant, target, key }: KeyedId): string {
  return digestId(['keyed', tenant, target, key]);
}

/** The id of a reach whose sender gave no key. Its domain differs, so it can never meet a keyed one. */
export function reachIdOfMessage({ tenant, source, messageId }: MessageId): string {
  return digestId(['message', tenant, source, messageId]);
}

/** The id of a reach that the agent of another made: unique in that other reach, and in no other. */
function nestedReachId(parent: string, own: string): string {
  return digestId(['nested', parent, own]);
}

/**
 * The id of an envelope's reach: by key where the caller or the payload gave one, else by source and message id.
 *
 * @param parent reach id of the call that it is made for. Its keys are a scope of their own: what an agent makes cannot take up a
 *   key of a caller's, nor of another call's; and every attempt of its call, by whichever agent, meets what the first made
 */
export function reachIdOf(envelope: Envelope, tenant: string, parent?: string): string {
  const own = plainReachId(envelope, tenant);
  return parent === undefined ? own : nestedReachId(parent, own);
}

function plainReachId(envelope: Envelope, tenant: string): string {
  if (envelope.key_origin === 'message') {
    return reachIdOfMessage({ tenant, source: envelope.source_agent, messageId: envelope.message_id });
  }
  return reachId({ tenant, target: targetOf(envelope), key: envelope.idempotency_key });
}

/** The target as it scopes an idempotency key: ability and agent as the caller wrote them, unambiguously joined. */
export function targetOf(envelope: Pick<Envelope, 'ability' | 'target_agent'>): string {
  return JSON.stringify([envelope.ability ?? null, envelope.target_agent ?? null]);
}

/** What makes an event the same event again: its source with its own id, or with the key its publisher gave. */
export interface EventId {
  tenant: string;
  source: string;
  key: string;
  by: 'id' | 'key';
}

/** The id of the workflow that hands an event to its subscribers: `e-` and 32 characters of base 32. */
export function publishId({ tenant, source, key, by }: EventId): string {
  return digestId([`event-${by}`, tenant, source, key], 'e-');
}

/** The id of the reach that delivers an event by one subscription: however often it is tried, one reach. */
export function deliveryId({ tenant, source, key, by }: EventId, subscriptionId: string): string {
  return digestId([`delivery-${by}`, tenant, source, key, subscriptionId]);
}

/** Parts are length-prefixed, so tenant `a` with `b:c` and tenant `a:b` with `c` differ. */
function digestId(parts: string[], prefix = 'r-'): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return `${prefix}${base32(hash.digest().subarray(0, ID_BYTES))}`;
}

function base32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += BASE32[(held >>> (bits - 5)) & 31];
    held &= 31;
  }
  return text;
}

const NOT_IN_FINGERPRINT: ReadonlySet<string> = new Set<keyof Envelope>([
  'timeout_ms',
  'message_id',
  'idempotency_key',
  'key_origin',
  // The content counts, however it came.
  'payload_ref',
]);

/**
 * SHA-256 (hex) of the canonical envelope without `timeout_ms`, `message_id`, `idempotency_key` and its
 * origin; trace context is no part of an envelope. Key order and white space do not matter, everything else
 * does: the same key with another fingerprint is `idempotency_key_reused`.
 *
 * @param content digest of the payload where that was read elsewhere. Over 1 MiB it stands for the payload, which then need
 *   not be here; such a payload never comes within its envelope, so that the two ways cannot meet.
 */
export function fingerprint(envelope: Envelope, content?: CanonicalDigest): string {
  const large = content !== undefined && content.bytes > MAX_PAYLOAD_BYTES;
  const counted = Object.entries(envelope).filter(
    ([key]) => !NOT_IN_FINGERPRINT.has(key) && !(large && key === 'payload'),
  );
  const members = Object.fromEntries(large ? [...counted, ['payload_sha256', content.sha256]] : counted);
  return createHash('sha256')
    .update(canonicalJson(members as JsonObject))
    .digest('hex');
}

/** What a payload is, whatever its white space and the order of its keys. */
export interface CanonicalDigest {
  /** SHA-256 of its {@link canonicalJson}, hex. */
  sha256: string;
  /** Length of that in UTF-8. */
  bytes: number;
}

/** The digest of a value's canonical JSON, written out piece by piece: a large value is never there twice. */
export function canonicalDigest(value: Json): CanonicalDigest {
  const hash = createHash('sha256');
  let bytes = 0;
  writeCanonical(value, (piece) => {
    hash.update(piece);
    bytes += Buffer.byteLength(piece);
  });
  return { sha256: hash.digest('hex'), bytes };
}

/** So many UTF-16 units of a string are escaped at once. */
const PIECE = 65_536;

function writeCanonical(value: Json, write: (piece: string) => void): void {
  if (typeof value === 'string' && value.length > PIECE) return writeText(value, write);
  if (value === null || typeof value !== 'object') return write(JSON.stringify(value));
  const isArray = Array.isArray(value);
  write(isArray ? '[' : '{');
  let before = '';
  for (const key of isArray ? value.keys() : Object.keys(value).sort()) {
    const member = (value as Record<string | number, Json>)[key];
    if (member === undefined) continue;
    write(typeof key === 'string' ? `${before}${JSON.stringify(key)}:` : before);
    writeCanonical(member, write);
    before = ',';
  }
  write(isArray ? ']' : '}');
}

/** A long string in pieces that never end between the halves of a surrogate pair. */
function writeText(text: string, write: (piece: string) => void): void {
  write('"');
  for (let at = 0; at < text.length;) {
    const last = text.charCodeAt(at + PIECE - 1);
    const end = last >= 0xd800 && last <= 0xdbff ? at + PIECE - 1 : at + PIECE;
    write(JSON.stringify(text.slice(at, end)).slice(1, -1));
    at = end;
  }
  write('"');
}

/**
 * JSON with keys sorted by code unit and no white space (RFC 8785 for the values that strict JSON admits).
 * Members that are undefined are left out. Depth is bounded by the parser, so recursion is safe.
 */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
}
