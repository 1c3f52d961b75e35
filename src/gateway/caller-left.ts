import type { Response } from 'express';

/** Aborted when the caller has hung up, or has been answered. */
export function callerLeft(response: Response): AbortSignal {
  const left = new AbortController();
  if (response.destroyed) left.abort();
  else response.once('close', () => left.abort());
  return left.signal;
}

/** What `work` comes to, or null as soon as `left` is aborted: nobody waits for it any more. The work itself is not stopped. */
export async function unlessLeft<T>(work: Promise<T>, left: AbortSignal | undefined): Promise<T | null> {
  if (!left) return work;
  let leave: (() => void) | undefined;
  const gone = new Promise<null>((resolve) => {
    leave = () => resolve(null);
    if (left.aborted) leave();
    else left.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([work, gone]);
  } finally {
    left.removeEventListener('abort', leave!);
  }
}
