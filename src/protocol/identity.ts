/** Identities derived from content: reach ids (R2, R7) and the fingerprint that tells a repeat from a reused key. */
import { createHash } from 'node:crypto';
import type { Envelope } from './envelope';
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

/** The id of an envelope's reach: by key where the caller or the payload gave one, else by source and message id. */
export function reachIdOf(envelope: Envelope, tenant: string): string {
  if (envelope.key_origin === 'message') {
    return reachIdOfMessage({ tenant, source: envelope.source_agent, messageId: envelope.message_id });
  }
  return reachId({ tenant, target: targetOf(envelope), key: envelope.idempotency_key });
}

/** The target as it scopes an idempotency key: ability and agent as the caller wrote them, unambiguously joined. */
export function targetOf(envelope: Pick<Envelope, 'ability' | 'target_agent'>): string {
  return JSON.stringify([envelope.ability ?? null, envelope.target_agent ?? null]);
}

/** Parts are length-prefixed, so tenant `a` with `b:c` and tenant `a:b` with `c` differ. */
function digestId(parts: string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return `r-${base32(hash.digest().subarray(0, ID_BYTES))}`;
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
]);

/**
 * SHA-256 (hex) of the canonical envelope without `timeout_ms`, `message_id`, `idempotency_key` and its
 * origin; trace context is no part of an envelope. Key order and white space do not matter, everything else
 * does: the same key with another fingerprint is `idempotency_key_reused`.
 */
export function fingerprint(envelope: Envelope): string {
  const content = Object.fromEntries(Object.entries(envelope).filter(([key]) => !NOT_IN_FINGERPRINT.has(key)));
  return createHash('sha256')
    .update(canonicalJson(content as JsonObject))
    .digest('hex');
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
