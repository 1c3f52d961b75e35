/** Reads what is in blobs, so that whoever reads a context need not know. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_CONTEXT_VALUE_BYTES, type Context, type ContextConflict } from '../protocol/context';
import { ReachError } from '../protocol/reach-error';
import type { Json } from '../protocol/shapes';
import type { ClaimBlobs } from './batch-claims';
import { LargeContext, valueOf } from './large-context';
import type { FoundConflict } from './outcomes';
import { claimedBytes, claimsOf, type Content, type StoredField } from './stored';

/** How large values are kept. */
export interface ClaimSettings {
  blobs: ClaimBlobs;
  /** `context.claim_above_bytes`: values over so many bytes of compact JSON are blobs. */
  aboveBytes: number;
  /** Largest value, bytes of compact JSON. */
  maxValueBytes: number;
}

type Fields = ReadonlyMap<string, StoredField>;

/** Times that a context is read before a blob that is not there counts as lost: it may have been replaced and collected meanwhile. */
const MAX_READS = 3;
const READ_AGAIN_MS = 50;

/** For a store that keeps all values in etcd. */
export const NO_BLOBS: ClaimBlobs = {
  put: unset,
  get: unset,
  stream: unset,
  touch: unset,
};

function unset(): Promise<never> {
  const message = 'This process was started without the store in which large values of contexts are kept';
  return Promise.reject(new ReachError('internal', message));
}

/** Fields with their values, from etcd and from blobs. */
export class ClaimReader {
  constructor(private readonly blobs: ClaimBlobs) {}

  /** All of it, in memory. @throws ReachError `internal` for a value whose blob is lost; what `read` throws */
  async whole(contextId: string, read: () => Promise<Fields>): Promise<Context> {
    const whole: Context['fields'] = {};
    for (const [name, { content, version, updated_at, updated_by }] of await this.present(read))
      whole[name] = { value: await valueOf(content, this.blobs), version, updated_at, updated_by };
    return { context_id: contextId, fields: whole };
  }

  /** As {@link whole}; where there are blobs, as text that is read when it is sent. */
  async open(contextId: string, read: () => Promise<Fields>): Promise<Context | LargeContext> {
    const fields = await this.present(read);
    if (![...fields.values()].some(({ claimed }) => claimed > 0))
      return this.whole(contextId, () => Promise.resolve(fields));
    return new LargeContext(contextId, fields, this.blobs);
  }

  /** Shows conflicts with the values that are there; what would make an answer of megabytes, by where to read it. */
  shower(contextId: string): (found: readonly FoundConflict[]) => Promise<ContextConflict[]> {
    return async (found) => {
      let left = MAX_CONTEXT_VALUE_BYTES;
      const shown: ContextConflict[] = [];
      for (const { content, ...conflict } of found) {
        const bytes = content === null ? 0 : claimedBytes(content);
        const value = bytes > left ? undefined : await this.current(content);
        if (value !== undefined) left -= bytes;
        const elsewhere = {
          current_value: null,
          current_value_ref: { bytes, href: hrefOf(contextId, conflict.field) },
        };
        shown.push({ ...conflict, ...(value === undefined ? elsewhere : { current_value: value }) });
      }
      return shown;
    };
  }

  /** Undefined where the blob is not there any more: the field is something else by now. */
  private async current(content: Content | null): Promise<Json | undefined> {
    if (content === null) return null;
    return valueOf(content, this.blobs).catch((caught: unknown) => {
      if (caught instanceof ReachError && caught.code === 'not_found') return undefined;
      throw caught;
    });
  }

  /** The fields, once every blob of them is there and marked as used: it is not collected while it is being read. */
  private async present(read: () => Promise<Fields>): Promise<Fields> {
    for (let n = 1; ; n += 1) {
      const fields = await read();
      const missing = await this.missing(fields);
      if (missing === null) return fields;
      if (n === MAX_READS) throw lost(missing);
      await sleep(READ_AGAIN_MS);
    }
  }

  /** A field of which a blob is not there. */
  private async missing(fields: Fields): Promise<string | null> {
    for (const [name, { content }] of fields)
      for (const ref of claimsOf(content)) if (!(await this.blobs.touch(ref))) return name;
    return null;
  }
}

/** A name with a comma can only be read with all the others. */
function hrefOf(contextId: string, field: string): string {
  const query = field.includes(',') ? '' : `?fields=${encodeURIComponent(field)}`;
  return `/v1/contexts/${encodeURIComponent(contextId)}${query}`;
}

function lost(field: string): ReachError {
  const shown = JSON.stringify(field.slice(0, 60));
  return new ReachError(
    'internal',
    `The value of field ${shown} is not in the store of large payloads any more; set the field anew or delete it, and read the others with ?fields=`,
  );
}
