import type { Listing } from './list-prefix';
import type { MirrorEntry } from './prefix-watch';

/**
 * Whether a mirror agrees with a listing of keys and revisions: nothing in it is older than listed, nothing listed
 * is missing unless its deletion was seen since, nothing is there that the listing should have had. What is newer
 * than the listing is fine.
 *
 * @param deleted keys whose deletion was seen since before the listing was asked for, with its revision
 */
export function agreesWith(
  mirror: ReadonlyMap<string, MirrorEntry>,
  listing: Listing,
  deleted: ReadonlyMap<string, number>,
): boolean {
  for (const [key, { modRevision }] of listing.entries) {
    const known = mirror.get(key)?.modRevision ?? deleted.get(key) ?? 0;
    if (known < modRevision) return false;
  }
  for (const [key, { modRevision }] of mirror) {
    if (modRevision <= listing.revision && !listing.entries.has(key)) return false;
  }
  return true;
}
