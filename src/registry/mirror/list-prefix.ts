import type { Etcd3 } from 'etcd3';
import { prefixRange } from '../etcd/etcd-ops';
import type { MirrorEntry } from './prefix-watch';

/** All keys below a prefix as of one revision. */
export interface Listing {
  entries: Map<string, MirrorEntry>;
  revision: number;
}

const PAGE_SIZE = 500;

/** Lists a prefix page by page, all pages at the revision of the first. With `keysOnly` the values are empty. */
export async function listPrefix(etcd: Etcd3, prefix: string, { keysOnly = false } = {}): Promise<Listing> {
  const { key, range_end } = prefixRange(prefix);
  const entries = new Map<string, MirrorEntry>();
  let revision: string | undefined;
  let from = key;
  for (;;) {
    const page = await etcd.kv.range({
      key: from,
      range_end,
      limit: PAGE_SIZE,
      keys_only: keysOnly,
      ...(revision !== undefined && { revision }),
    });
    revision ??= page.header.revision;
    for (const entry of page.kvs)
      entries.set(entry.key.toString(), { value: entry.value, modRevision: Number(entry.mod_revision) });
    const last = page.kvs.at(-1);
    if (!page.more || last === undefined) return { entries, revision: Number(revision) };
    from = Buffer.concat([last.key, Buffer.from([0])]);
  }
}
