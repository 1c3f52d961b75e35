/**
 * How long a decision about a retry waits for etcd, ms. One that accepts connections and never answers would else hold it for
 * longer than the server waits for the activity that makes it.
 */
export const RETRY_WAIT_MS = 1_000;

/** What is awaited, for `ms` at most; it goes on all the same. @throws Error when the time is over, or what it is rejected with */
export async function withinMs<T>(ms: number, awaited: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new Error(`no answer within ${ms} ms`));
    // An answer that came while this process was busy is read first.
    timer = setTimeout(() => setImmediate(giveUp), ms);
  });
  try {
    return await Promise.race([awaited, over]);
  } finally {
    clearTimeout(timer);
  }
}
