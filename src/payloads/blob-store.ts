import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { formatPayloadRef, parsePayloadRef, type PayloadRef, type PayloadRefParts } from '../protocol/payload-ref';
import { ReachError } from '../protocol/reach-error';
import type { ObjectInfo, ObjectStore } from './object-store';

/** What is used again within this time of its last mark needs no new one, ms: a mark is a write. */
const MARK_EVERY_MS = 3_600_000;
/** What would be collected within this time is not counted on any more, ms: the sweep may be faster than the reader. */
const LAST_HOUR_MS = 3_600_000;

/** What a {@link BlobStore} is made of. */
export interface BlobStoreOptions {
  objects: ObjectStore;
  /** First segments of its keys, such as `default/payloads`: one tenant's blobs of one kind. */
  area: string;
  /** Blobs that nobody used for so long may be collected, ms. */
  retentionMs: number;
  /** Wall clock, Unix ms: ages are counted between processes and against the store's own clock. */
  nowMs?: () => number;
}

/**
 * Content under its own digest: putting the same bytes twice keeps them once, and a reference can only ever mean one
 * content. What is in use is touched; what was not used for the retention time goes.
 */
export class BlobStore {
  private readonly nowMs: () => number;

  constructor(private readonly options: BlobStoreOptions) {
    this.nowMs = options.nowMs ?? (() => new Date().getTime());
  }

  /** Keeps `content` and returns its reference. `keepMs`: it is needed for so long, beyond the retention. @throws ReachError `storage_full`, `engine_unavailable` */
  async put(content: Uint8Array, options: { digest?: string; keepMs?: number } = {}): Promise<PayloadRef> {
    const digest = options.digest ?? createHash('sha256').update(content).digest('hex');
    const ref = formatPayloadRef({ digest, bytes: content.byteLength });
    if (await this.touch(ref, options)) return ref;
    await this.options.objects.put(this.keyOf(digest), content);
    if (options.keepMs) await this.touch(ref, options);
    return ref;
  }

  /** The whole content; counts as a use. @throws ReachError `not_found` */
  async get(ref: string): Promise<Buffer> {
    const { objects } = this.options;
    const { digest, bytes } = partsOf(ref);
    const key = this.keyOf(digest);
    const info = await objects.info(key);
    // Looked at first: a reference may say less than the content has, and is believed where memory is reserved.
    const content = info?.bytes === bytes ? await objects.get(key) : null;
    if (!info || content?.byteLength !== bytes) throw gone(ref);
    await this.mark(info, { wantedMs: this.nowMs() });
    return content;
  }

  /** The content, or a part of it, piece by piece; counts as a use. @throws ReachError `not_found` */
  async stream(ref: string, range?: { start: number; end: number }): Promise<Readable> {
    const content =
      (await this.touch(ref)) && (await this.options.objects.stream(this.keyOf(partsOf(ref).digest), range));
    if (!content) throw gone(ref);
    return content;
  }

  /**
   * Marks a blob as used now, and as needed for `keepMs` from now. False when it is not there, or so near to its end that it
   * must not be relied on: put it again.
   */
  async touch(ref: string, { keepMs = 0 }: { keepMs?: number } = {}): Promise<boolean> {
    const { digest, bytes } = partsOf(ref);
    const info = await this.options.objects.info(this.keyOf(digest));
    return info?.bytes === bytes && this.mark(info, { wantedMs: this.nowMs() + keepMs });
  }

  private async mark({ key, usedMs }: ObjectInfo, { wantedMs }: { wantedMs: number }): Promise<boolean> {
    const { objects, retentionMs } = this.options;
    if (usedMs + retentionMs < this.nowMs() + Math.min(LAST_HOUR_MS, retentionMs / 10)) return false;
    if (usedMs >= wantedMs - Math.min(MARK_EVERY_MS, retentionMs / 10)) return true;
    return objects.touch(key, wantedMs);
  }

  /** Removes what nobody has used for the retention time, and counts what stays. Safe to run in many processes at once. */
  async sweep(signal?: AbortSignal): Promise<{ blobs: number; bytes: number; removed: number }> {
    const { objects, area, retentionMs } = this.options;
    const counted = { blobs: 0, bytes: 0, removed: 0 };
    for await (const { key, bytes, usedMs } of objects.list(`${area}/`)) {
      if (signal?.aborted) break;
      const unusedSinceMs = this.nowMs() - retentionMs;
      if (usedMs < unusedSinceMs && (await objects.delete(key, { unusedSinceMs }))) counted.removed += 1;
      else {
        counted.blobs += 1;
        counted.bytes += bytes;
      }
    }
    return counted;
  }

  private keyOf(digest: string): string {
    return `${this.options.area}/${digest.slice(0, 2)}/${digest}`;
  }
}

/** What a reference says; its digest is the only part that ever becomes a key. @throws ReachError `not_found` */
function partsOf(ref: string): PayloadRefParts {
  const parts = parsePayloadRef(ref);
  if (parts === null)
    throw new ReachError('not_found', 'This is no payload reference; one reads sha256:<64 hex digits>:<bytes>');
  return parts;
}

function gone(ref: string): ReachError {
  return new ReachError('not_found', `The content of ${ref} is not stored (any more); upload it again`);
}
