import { createHash } from 'node:crypto';
import { MAX_CHUNK_BYTES, type PayloadRef } from '../protocol/payload-ref';
import { ReachError, type FieldError } from '../protocol/reach-error';
import type { BlobStore } from './blob-store';
import type { ObjectInfo, ObjectStore } from './object-store';
import type { PayloadReader } from './reader';

/** Chunks may be smaller than they have to be, but not by so much that their number grows without limit. */
const SPARE_CHUNKS = 4;
const MIN_CHUNK_LIMIT = 1_024;
/** Numbers that a message about missing chunks names. */
const NAMED = 10;
const DONE = 'done';

/** What uploads are made of. */
export interface UploadOptions {
  objects: ObjectStore;
  /** Where the finished payloads go. */
  blobs: BlobStore;
  reader: PayloadReader;
  /** First segments of the keys, such as `default/uploads`. */
  area: string;
  /** Largest payload, bytes. */
  maxBytes: number;
  /** Uploads that nobody went on with for so long are dropped, ms. */
  ttlMs: number;
  /** Wall clock, Unix ms. */
  nowMs?: () => number;
}

/** Whose upload it is, and of which message: two senders never meet under one message id. */
export interface UploadId {
  principal: string;
  messageId: string;
}

/** How far an upload is. */
export interface UploadState {
  message_id: string;
  /** Chunks that are there, by number. */
  chunks: { sequence: number; bytes: number }[];
  bytes: number;
  /** Set once the upload was completed. */
  payload_ref?: PayloadRef;
}

/** What `:complete` answers. */
export interface UploadReceipt {
  payload_ref: PayloadRef;
  bytes: number;
}

/** Kept for a finished upload, so that a repeated chunk or completion is answered like the first. */
interface Done extends UploadReceipt {
  sha256: string;
  /** SHA-256 of each chunk, by its number. */
  chunks: Record<string, string>;
}

/** Chunked uploads (R8): chunks come in any order and as often as they like, and become one payload when all are there. */
export class Uploads {
  private readonly nowMs: () => number;
  private readonly maxSequence: number;

  constructor(private readonly options: UploadOptions) {
    this.nowMs = options.nowMs ?? (() => new Date().getTime());
    const needed = Math.ceil(options.maxBytes / MAX_CHUNK_BYTES);
    this.maxSequence = Math.max(MIN_CHUNK_LIMIT, needed * SPARE_CHUNKS);
  }

  /** Takes one chunk. The same content again is fine. @throws ReachError `invalid_request`, `payload_too_large`, `storage_full` */
  async putChunk(
    id: UploadId,
    sequence: number,
    content: Uint8Array,
  ): Promise<{ sequence: number; bytes: number; replayed: boolean }> {
    this.assertChunk(sequence, content);
    const answer = { sequence, bytes: content.byteLength };
    const done = await this.done(id);
    if (done) {
      if (done.chunks[sequence] === sha256(content)) return { ...answer, replayed: true };
      throw invalid(
        '/sequence',
        `This upload was completed as ${done.payload_ref} without this chunk`,
        'use a new message id',
      );
    }
    const key = this.keyOf(id, sequence);
    if (await this.options.objects.put(key, content, { ifAbsent: true })) return { ...answer, replayed: false };
    const kept = await this.options.objects.get(key);
    if (kept?.equals(content)) return { ...answer, replayed: true };
    throw invalid(
      '/sequence',
      `Chunk ${sequence} was uploaded with other content`,
      'DELETE the upload, or use a new message id',
    );
  }

  /** Which chunks are there. @throws ReachError `not_found` */
  async state(id: UploadId): Promise<UploadState> {
    const done = await this.done(id);
    const chunks = (await this.chunks(id)).map(({ sequence, bytes }) => ({ sequence, bytes }));
    if (!done && chunks.length === 0) throw unknown(id);
    const bytes = done?.bytes ?? sum(chunks);
    return { message_id: id.messageId, chunks, bytes, ...(done && { payload_ref: done.payload_ref }) };
  }

  /**
   * Makes one payload of the chunks, if all are there, fit the checksum, and are a JSON object under the rules of bodies.
   * Again answers the same. @throws ReachError `invalid_request` and its like, `payload_too_large`, `storage_full`
   */
  async complete(id: UploadId, claim: { chunks: number; sha256: string }): Promise<UploadReceipt> {
    const done = await this.done(id);
    if (done) return this.again(id, done, claim);
    try {
      return await this.completeFirst(id, claim);
    } catch (caught) {
      // Whoever completed it meanwhile has taken its chunks away.
      const meanwhile = await this.done(id);
      if (meanwhile) return this.again(id, meanwhile, claim);
      throw caught;
    }
  }

  private async completeFirst(id: UploadId, claim: { chunks: number; sha256: string }): Promise<UploadReceipt> {
    const chunks = await this.chunks(id);
    this.assertAll(chunks, claim.chunks, id);
    const receipt = await this.options.reader.memory.hold(sum(chunks), () => this.join(id, chunks, claim));
    for (const { key } of chunks) await this.options.objects.delete(key);
    return receipt;
  }

  private async join(
    id: UploadId,
    chunks: readonly (ObjectInfo & { sequence: number })[],
    claim: { sha256: string },
  ): Promise<UploadReceipt> {
    const { content, digests } = await this.assemble(chunks);
    const found = await this.options.reader.read(content, { strict: { what: 'the payload' }, sha256: claim.sha256 });
    const payload_ref = await this.options.blobs.put(found.content.subarray(found.start, found.end), {
      digest: found.digest,
    });
    const receipt = { payload_ref, bytes: found.end - found.start };
    const record: Done = { ...receipt, sha256: claim.sha256, chunks: digests };
    await this.options.objects.put(this.doneKey(id), Buffer.from(JSON.stringify(record)));
    return receipt;
  }

  /** Drops what was uploaded so far; the payload of a finished upload stays. */
  async discard(id: UploadId): Promise<void> {
    for (const { key } of await this.chunks(id)) await this.options.objects.delete(key);
    await this.options.objects.delete(this.doneKey(id));
  }

  /** Removes what nobody went on with in time. Safe to run in many processes at once. */
  async sweep(signal?: AbortSignal): Promise<number> {
    let removed = 0;
    for await (const { key, usedMs } of this.options.objects.list(`${this.options.area}/`)) {
      if (signal?.aborted) break;
      const unusedSinceMs = this.nowMs() - this.options.ttlMs;
      if (usedMs < unusedSinceMs && (await this.options.objects.delete(key, { unusedSinceMs }))) removed += 1;
    }
    return removed;
  }

  private assertChunk(sequence: number, content: Uint8Array): void {
    if (content.byteLength === 0)
      throw invalid('', 'A chunk must have at least one byte', 'send its bytes as the body');
    if (content.byteLength > MAX_CHUNK_BYTES)
      throw new ReachError(
        'payload_too_large',
        `A chunk has at most ${MAX_CHUNK_BYTES} bytes; this one has ${content.byteLength}`,
        {
          extra: { details: { limit_bytes: MAX_CHUNK_BYTES } },
        },
      );
    if (sequence > this.maxSequence)
      throw this.tooLarge(`Chunks are numbered up to ${this.maxSequence}; send larger chunks`);
  }

  /** Numbered from 0 or from 1, without a gap, and as many as was said. */
  private assertAll(chunks: readonly { sequence: number; bytes: number }[], count: number, id: UploadId): void {
    if (chunks.length === 0) throw unknown(id);
    if (sum(chunks) > this.options.maxBytes) throw this.tooLarge('The chunks together are too large');
    const from = chunks[0]!.sequence === 0 ? 0 : 1;
    const there = new Set(chunks.map(({ sequence }) => sequence));
    const missing = Array.from({ length: count }, (_, n) => from + n).filter((sequence) => !there.has(sequence));
    if (missing.length > 0) {
      const named =
        missing.slice(0, NAMED).join(', ') + (missing.length > NAMED ? ` and ${missing.length - NAMED} more` : '');
      throw invalid('/chunks', `Chunks are missing: ${named}`, 'send them, then complete again');
    }
    if (chunks.length > count)
      throw invalid('/chunks', `${chunks.length} chunks were uploaded, not ${count}`, 'say how many there are');
  }

  private async assemble(
    chunks: readonly (ObjectInfo & { sequence: number })[],
  ): Promise<{ content: Buffer; digests: Done['chunks'] }> {
    const content = Buffer.from(new ArrayBuffer(sum(chunks)));
    const digests: Done['chunks'] = {};
    let at = 0;
    for (const { key, sequence, bytes } of chunks) {
      const chunk = content.subarray(at, at + bytes);
      // Read where it is wanted: a copy of each chunk on the way would be as much memory again.
      if ((await this.options.objects.readInto(key, chunk)) !== bytes)
        throw invalid('/chunks', `Chunk ${sequence} was dropped meanwhile`, 'send it again');
      digests[sequence] = sha256(chunk);
      at += bytes;
    }
    return { content, digests };
  }

  private async again(id: UploadId, done: Done, claim: { chunks: number; sha256: string }): Promise<UploadReceipt> {
    if (done.sha256 !== claim.sha256 || Object.keys(done.chunks).length !== claim.chunks)
      throw invalid(
        '/sha256',
        `This upload was completed as ${done.payload_ref}`,
        'use a new message id for another payload',
      );
    if (await this.options.blobs.touch(done.payload_ref)) return { payload_ref: done.payload_ref, bytes: done.bytes };
    await this.options.objects.delete(this.doneKey(id));
    throw unknown(id);
  }

  private async chunks(id: UploadId): Promise<(ObjectInfo & { sequence: number })[]> {
    const found: (ObjectInfo & { sequence: number })[] = [];
    for await (const info of this.options.objects.list(`${this.folderOf(id)}/`)) {
      const name = info.key.slice(info.key.lastIndexOf('/') + 1);
      if (name !== DONE) found.push({ ...info, sequence: Number(name) });
    }
    return found.sort((a, b) => a.sequence - b.sequence);
  }

  private async done(id: UploadId): Promise<Done | null> {
    const record = await this.options.objects.get(this.doneKey(id));
    return record && (JSON.parse(record.toString('utf8')) as Done);
  }

  private folderOf({ principal, messageId }: UploadId): string {
    return `${this.options.area}/${sha256(`${Buffer.byteLength(principal)}:${principal}${messageId}`)}`;
  }

  private keyOf(id: UploadId, sequence: number): string {
    return `${this.folderOf(id)}/${String(sequence).padStart(8, '0')}`;
  }

  private doneKey(id: UploadId): string {
    return `${this.folderOf(id)}/${DONE}`;
  }

  private tooLarge(message: string): ReachError {
    const { maxBytes } = this.options;
    return new ReachError('payload_too_large', `${message}: a payload has at most ${maxBytes} bytes`, {
      extra: { details: { limit_bytes: maxBytes } },
    });
  }
}

const sum = (chunks: readonly { bytes: number }[]): number => chunks.reduce((total, { bytes }) => total + bytes, 0);

const sha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');

function invalid(pointer: string, message: string, fix: string): ReachError {
  const error: FieldError = { pointer, message, fix };
  return new ReachError('invalid_request', `${message}; ${fix}`, { errors: [error] });
}

function unknown({ messageId }: UploadId): ReachError {
  return new ReachError(
    'not_found',
    `No chunk of ${messageId} is here; uploads that nobody goes on with are dropped after a while`,
  );
}
