/** What of one batch is kept as blobs, through all the tries that it takes to write it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ITxnResponse } from 'etcd3';
import type { BlobStore } from '../payloads';
import type { PayloadRef } from '../protocol/payload-ref';
import type { Change, Changes } from './changes';
import type { ClaimKeys } from './claim-keys';
import { CONDEMNED_FOR_SEC, COLLECTING } from './claim-sweep';
import { listOf } from './encoded';
import { foundBy, type WrittenClaims } from './transaction';

/** Blobs that are put at once. */
const AT_ONCE = 8;
/** A blob is removed in a moment; whoever wants to write the same content waits for that, ms. */
const COLLECTED_MS = 150;
/** Blobs that were put longer ago are put again before they are relied on, ms: well within what is remembered of removals. */
const RELIED_ON_MS = (CONDEMNED_FOR_SEC * 1_000) / 4;

/** What blobs are kept in, as far as a batch needs it. */
export type ClaimBlobs = Pick<BlobStore, 'put' | 'get' | 'stream' | 'touch'>;

/** What a batch needs for its blobs. */
export interface BatchClaimsOptions {
  blobs: ClaimBlobs;
  keys: ClaimKeys;
  contextId: string;
  /** Fields whose new values are kept as blobs. */
  planned: ReadonlySet<string>;
  monotonicMs: () => number;
}

/**
 * Blobs are put before the transaction that refers to them, so a reference never dangles; one that is then not written leaves a
 * blob that nobody refers to, which is collected. Collecting and writing meet in etcd: a blob is condemned there before it is
 * removed, and the transaction of a batch holds only if nothing was condemned that the batch has not seen
 * (`docs/decisions/0014-versions-are-revisions.md`).
 */
export class BatchClaims {
  private readonly refs = new Map<string, PayloadRef>();
  private fence = '0';
  private keptMs = 0;

  constructor(private readonly options: BatchClaimsOptions) {}

  /** For the next try; undefined for a batch without blobs. */
  async ready(changes: Changes): Promise<WrittenClaims | undefined> {
    const { keys, contextId, planned, monotonicMs } = this.options;
    if (planned.size === 0) return undefined;
    if (this.refs.size === 0 || monotonicMs() - this.keptMs > RELIED_ON_MS) await this.keep(changes, [...planned]);
    return { refs: this.refs, fence: this.fence, keys, contextId };
  }

  /** Takes in what a try found that was not written: which of its blobs are being removed, or were. */
  async setBack(changes: Changes, response: ITxnResponse): Promise<void> {
    if (this.refs.size === 0) return;
    const { condemned } = this.options.keys;
    const removed: string[] = [];
    for (const [place, field] of [...changes.keys()].entries()) {
      const state = foundBy(response, place).find(({ key }) => key.toString().startsWith(condemned));
      if (state?.value.toString() === COLLECTING) return void (await sleep(COLLECTED_MS));
      if (state) removed.push(field);
    }
    if (removed.length > 0) await this.keep(changes, removed);
    this.fence = response.header.revision;
  }

  private async keep(changes: Changes, fields: readonly string[]): Promise<void> {
    const startedMs = this.options.monotonicMs();
    for (let at = 0; at < fields.length; at += AT_ONCE) {
      const some = fields.slice(at, at + AT_ONCE).map(async (field) => {
        const { content, sha256 } = contentOf(changes.get(field)!);
        const ref = await this.options.blobs.put(content, sha256 === undefined ? {} : { digest: sha256 });
        this.refs.set(field, ref);
      });
      await Promise.all(some);
    }
    this.keptMs = startedMs;
  }
}

/** What is kept of a change: its value, or the list of what it appends. */
function contentOf(change: Change): { content: Uint8Array; sha256?: string } {
  if (change.kind === 'append') return { content: listOf(change.bodies) };
  if (change.kind === 'delete') throw new TypeError('a deletion keeps nothing');
  const { json, sha256 } = change.body;
  return { content: typeof json === 'string' ? Buffer.from(json) : json, sha256 };
}
