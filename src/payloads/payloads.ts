import type { Readable } from 'node:stream';
import { compactIfOver } from '../policy/json-size';
import type { CanonicalDigest } from '../protocol/identity';
import type { JsonSchema } from '../protocol/json-schema';
import { MAX_INLINE_BYTES, parsePayloadRef, type OutputClaim, type PayloadRef } from '../protocol/payload-ref';
import { ReachError, type FieldError } from '../protocol/reach-error';
import type { JsonObject } from '../protocol/shapes';
import type { BlobStore } from './blob-store';
import { patiently, type Patience } from './patience';
import type { PayloadReader, Read } from './reader';
import type { ReadOrder } from './reading';
import { storeUnusable } from './storage-errors';
import type { Uploads } from './uploads';

/** What {@link Payloads} is made of. */
export interface PayloadParts {
  blobs: BlobStore;
  uploads: Uploads;
  reader: PayloadReader;
  /** `payloads.max_bytes` */
  maxBytes: number;
}

/** A large payload that is sent on without being read. */
export interface PayloadSource {
  bytes: number;
  stream: () => Promise<AsyncIterable<Uint8Array>>;
}

/** An agent's large answer: kept, or what its schema finds wrong with it. */
export type KeptOutput = { claim: OutputClaim; errors: [] } | { claim: null; errors: FieldError[] };

/**
 * Claim checks (R8): what is larger than {@link MAX_INLINE_BYTES} is kept as a blob wherever it enters the platform, and a
 * reference goes through workflows and histories in its place. Who needs the content, at the rim again, gets it here.
 */
export class Payloads {
  readonly maxBytes: number;
  readonly uploads: Uploads;
  private readonly blobs: BlobStore;
  private readonly reader: PayloadReader;

  constructor({ blobs, uploads, reader, maxBytes }: PayloadParts) {
    this.blobs = blobs;
    this.uploads = uploads;
    this.reader = reader;
    this.maxBytes = maxBytes;
  }

  /** The content of a reference that a caller sent, and its canonical digest. @throws ReachError `invalid_request` for a reference to nothing */
  async open(ref: string): Promise<{ payload: JsonObject; canonical: CanonicalDigest }> {
    const order = { trusted: true, noDigest: true, canonical: true, wantValue: true } as const;
    const { value, canonical } = await this.readStored(ref, order).catch((caught: unknown) => asFinding(caught, ref));
    return { payload: value!, canonical: canonical! };
  }

  /** As {@link open}, for who need not see it all: an outline, and what each schema finds wrong with the whole. */
  async outline(
    ref: string,
    schemas: JsonSchema[],
  ): Promise<{ outline: JsonObject; canonical: CanonicalDigest; found: FieldError[][] }> {
    const order = { trusted: true, noDigest: true, canonical: true, outlineFor: schemas } as const;
    const read = await this.readStored(ref, order).catch((caught: unknown) => asFinding(caught, ref));
    const { outline, canonical, found } = read;
    return { outline: outline!, canonical: canonical!, found: found! };
  }

  /** The content of `ref`. @throws ReachError `not_found` */
  async load(ref: string): Promise<JsonObject> {
    const { value } = await this.readStored(ref, { trusted: true, noDigest: true, wantValue: true });
    return value!;
  }

  /**
   * The bytes of `ref`, unread. A store that breaks off while they are read is told as such, with nothing received: what is cut
   * short is no payload. @throws ReachError `not_found` when it is not there by now
   */
  async source(ref: string): Promise<PayloadSource> {
    if (!(await this.blobs.touch(ref))) await this.held(ref, () => this.blobs.get(ref));
    const bytes = parsePayloadRef(ref)?.bytes ?? 0;
    return { bytes, stream: async () => whole(await this.blobs.stream(ref), bytes) };
  }

  /** The bytes of `ref`, or a part of them. @throws ReachError `not_found` */
  stream(ref: string, range?: { start: number; end: number }): Promise<Readable> {
    return this.blobs.stream(ref, range);
  }

  /**
   * Keeps a payload that is too large to travel in messages; null for one that is not. `sourceBytes` is the length of the
   * text it was read from, so that the many small ones are not written out to be measured. @throws ReachError `storage_full`
   */
  async keepIfLarge(
    payload: JsonObject,
    { sourceBytes, keepMs }: { sourceBytes?: number; keepMs: number },
  ): Promise<PayloadRef | null> {
    const compact = compactIfOver(payload, sourceBytes, MAX_INLINE_BYTES);
    return compact === null ? null : this.blobs.put(Buffer.from(compact), { keepMs });
  }

  /** Marks what a reach refers to as needed for as long as it may take. @throws ReachError `invalid_request` for a reference to nothing */
  async hold(ref: string, keepMs: number): Promise<void> {
    if (!(await this.blobs.touch(ref, { keepMs }))) throw noContent(ref);
  }

  /** Keeps an answer that is too large to travel in messages; null for one that is not. It was checked already. */
  async keepOutput(output: JsonObject, sourceBytes?: number, patience?: Patience): Promise<OutputClaim | null> {
    const compact = compactIfOver(output, sourceBytes, MAX_INLINE_BYTES);
    if (compact === null) return null;
    const { claim } = await this.keepAnswer(Buffer.from(compact), { trusted: true }, patience);
    return claim;
  }

  /**
   * Reads an agent's large answer, strictly, and keeps it if its schema (when given) has nothing against it. The work is done: a store
   * that does not answer is asked again, as `patience` says.
   */
  async keepAnswer(
    content: Buffer,
    order: Pick<ReadOrder, 'schema' | 'unwrap' | 'trusted' | 'strict'>,
    patience?: Patience,
  ): Promise<KeptOutput> {
    const strict = { errorCode: 'agent_protocol_error', what: "the agent's answer" } as const;
    const read = await this.reader.read(content, { strict, locate: 'answer', ...order });
    if (read.errors.length > 0) return { claim: null, errors: read.errors };
    if (read.end - read.start > this.maxBytes) throw this.tooLarge();
    const ref = await patiently(
      () => this.blobs.put(read.content.subarray(read.start, read.end), { digest: read.digest }),
      patience,
    );
    return { claim: claimOf(ref, read), errors: [] };
  }

  /**
   * The claim of an answer that an agent has uploaded itself, if its schema has nothing against it; waits for the store as
   * {@link keepAnswer} does. @throws ReachError `not_found`
   */
  async claimUploaded(ref: string, schema: JsonSchema | undefined, patience?: Patience): Promise<KeptOutput> {
    const strict = { what: "the agent's answer" };
    const order = { trusted: true, noDigest: true, locate: 'answer', schema, strict } as const;
    const read = await patiently(() => this.readStored(ref, order), patience);
    return read.errors.length > 0 ? { claim: null, errors: read.errors } : { claim: claimOf(ref, read), errors: [] };
  }

  /** Ends the reading of what is being read. */
  close(): Promise<void> {
    return this.reader.close();
  }

  private tooLarge(): ReachError {
    return new ReachError('agent_response_too_large', `The agent's answer is over ${this.maxBytes} bytes`, {
      extra: { details: { limit_bytes: this.maxBytes } },
    });
  }

  private readStored(ref: string, order: ReadOrder): Promise<Read> {
    return this.held(ref, async () => this.reader.read(await this.blobs.get(ref), order));
  }

  /** Nothing is fetched before there is room for it: sixty reaches with one large payload are not sixty payloads in memory. */
  private held<T>(ref: string, run: () => Promise<T>): Promise<T> {
    return this.reader.memory.hold(parsePayloadRef(ref)?.bytes ?? 0, run);
  }
}

/** @throws ReachError `engine_unavailable` where the store breaks off */
async function* whole(content: Readable, bytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  try {
    for await (const piece of content as AsyncIterable<Uint8Array>) {
      size += piece.byteLength;
      yield piece;
    }
  } catch (caught) {
    throw brokenOff(caught);
  }
  if (size < bytes) throw brokenOff(new Error(`it ended after ${size} of ${bytes} bytes`));
}

function brokenOff(cause: unknown): ReachError {
  const { code, message, options } = storeUnusable('read', cause);
  return new ReachError(code, message, { ...options, received: 'no' });
}

function claimOf(ref: string, { located }: Pick<Read, 'located'>): OutputClaim {
  return { ref, ...(located && { answer_at: located }) };
}

function noContent(ref: string): ReachError {
  const message = 'names content that is not stored (any more)';
  const fix = 'upload it in chunks and send the reference that :complete answers';
  return new ReachError('invalid_request', `payload_ref ${message}; ${fix}`, {
    errors: [{ pointer: '/payload_ref', message, fix }],
    extra: { details: { payload_ref: ref } },
  });
}

function asFinding(caught: unknown, ref: string): never {
  if (caught instanceof ReachError && caught.code === 'not_found') throw noContent(ref);
  throw caught;
}
