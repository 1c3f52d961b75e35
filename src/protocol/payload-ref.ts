/** Large payloads (R8): how they are named, cut and measured. No run-time dependency, so workflow code may import it. */

/** Largest chunk of an upload, bytes (not characters): a character may be cut in two, a chunk is not text. */
export const MAX_CHUNK_BYTES = 262_144;
/**
 * Most bytes of compact JSON that a payload or an answer may have to travel inside a message. What is larger is kept as a
 * blob and travels by reference: with what surrounds it, an event of a history stays below 256 KiB.
 */
export const MAX_INLINE_BYTES = 131_072;
/** Default of `payloads.max_bytes`: largest payload and largest answer, 64 MiB. */
export const DEFAULT_MAX_PAYLOAD_BYTES = 67_108_864;

/** `sha256:<64 hex digits>:<bytes>`: what a payload is and how large, by its content alone. */
export type PayloadRef = `sha256:${string}:${number}`;

/** What a reference says. */
export interface PayloadRefParts {
  /** SHA-256 of the content, 64 lower-case hex digits. */
  digest: string;
  bytes: number;
}

const REF = /^sha256:([0-9a-f]{64}):(0|[1-9]\d{0,14})$/;

/** Writes a reference. */
export function formatPayloadRef({ digest, bytes }: PayloadRefParts): PayloadRef {
  return `sha256:${digest}:${bytes}`;
}

/** Reads a reference; null for anything that is none. */
export function parsePayloadRef(text: string): PayloadRefParts | null {
  const match = REF.exec(text);
  return match ? { digest: match[1]!, bytes: Number(match[2]) } : null;
}

/** True for the text of a reference. */
export function isPayloadRef(text: string): text is PayloadRef {
  return REF.test(text);
}

/** A large answer that is kept as a blob. Travels in place of the output. */
export interface OutputClaim {
  ref: string;
  /** Where the value of the output's top-level member `answer` is in the blob: first byte and the one after its last. */
  answer_at?: [start: number, end: number];
}

/** Cuts content into chunks of at most {@link MAX_CHUNK_BYTES}, numbered from 0; views, not copies. Nothing for no bytes. */
export function* chunksOf(
  content: Uint8Array,
  chunkBytes = MAX_CHUNK_BYTES,
): Generator<{ sequence: number; bytes: Uint8Array }> {
  for (let at = 0, sequence = 0; at < content.byteLength; at += chunkBytes, sequence += 1)
    yield { sequence, bytes: content.subarray(at, at + chunkBytes) };
}
