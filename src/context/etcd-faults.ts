import { ReachError } from '../protocol/reach-error';
import { callEtcd, isOutOfSpace } from '../registry/etcd/etcd-client';

/** etcd's words for a request over its `--max-request-bytes`, and gRPC's for one over what it reads at all. */
const TOO_LARGE = /request is too large|received message larger than max/i;

/** Runs reads. @throws ReachError `engine_unavailable` */
export function reading<T>(contextId: string, run: () => Promise<T>): Promise<T> {
  return callEtcd(`reading context ${shown(contextId)}`, run);
}

/**
 * Runs a write. A write without an answer may have happened, or may still happen.
 *
 * @throws ReachError `engine_unavailable`, `storage_full`, `payload_too_large`
 */
export async function writing<T>(contextId: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (caught) {
    throw faultOf(caught, contextId);
  }
}

function faultOf(caught: unknown, contextId: string): ReachError {
  if (caught instanceof ReachError) return caught;
  if (caught instanceof TypeError || caught instanceof RangeError) return ReachError.from(caught);
  if (isOutOfSpace(caught)) {
    const message =
      'etcd is out of space, so nothing was written; compact, defragment and disarm its alarm, or delete contexts';
    return new ReachError('storage_full', message, { cause: caught, retryAfterMs: 10_000 });
  }
  if (caught instanceof Error && TOO_LARGE.test(caught.message)) return overRequestLimit(caught);
  const message = `etcd gave no answer while context ${shown(contextId)} was written; the write may have happened: read the context again before you repeat it`;
  return new ReachError('engine_unavailable', message, { cause: caught, retryAfterMs: 1_000 });
}

/** One batch has to fit into one request to etcd. */
export function overRequestLimit(cause?: unknown): ReachError {
  const message = 'is too large to be written at once';
  return new ReachError('payload_too_large', `The batch ${message}; write the fields in several requests`, {
    errors: [{ pointer: '/operations', message, fix: 'write the fields in several requests' }],
    cause,
  });
}

const shown = (contextId: string): string => JSON.stringify(contextId.slice(0, 64));
