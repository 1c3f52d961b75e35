import { bytesOf, type Changes } from './changes';

/** Bytes of values that one transaction may carry; etcd takes 1.5 MiB with everything around them. */
const MAX_INLINE_BATCH_BYTES = 1_048_576;
/** A reference takes about as much. */
const MIN_CLAIM_BYTES = 1_024;

/**
 * The fields whose new values are kept as blobs: those over the threshold, and of a batch that would not fit into one
 * transaction the largest besides.
 */
export function planClaims(changes: Changes, aboveBytes: number): Set<string> {
  const writes = [...changes].map(([field, change]) => ({ field, bytes: bytesOf(change) }));
  let inline = writes.reduce((sum, { bytes }) => sum + bytes, 0);
  const planned = new Set<string>();
  for (const { field, bytes } of writes.sort((a, b) => b.bytes - a.bytes)) {
    if (bytes <= aboveBytes && (inline <= MAX_INLINE_BATCH_BYTES || bytes <= MIN_CLAIM_BYTES)) break;
    planned.add(field);
    inline -= bytes;
  }
  return planned;
}
