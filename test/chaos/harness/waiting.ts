import { setTimeout as sleep } from 'node:timers/promises';

/** Asks `check` until it holds; false when it did not within the limit. A check that throws counts as not yet. */
export async function eventually(
  check: () => Promise<boolean> | boolean,
  { limitMs, everyMs = 100 }: { limitMs: number; everyMs?: number },
): Promise<boolean> {
  const endsMs = performance.now() + limitMs;
  for (;;) {
    if (await Promise.resolve(check()).catch(() => false)) return true;
    if (performance.now() >= endsMs) return false;
    await sleep(everyMs);
  }
}

/** Runs all with at most `width` at a time, in order; the results are in the order of the items. */
export async function inParallel<T, R>(items: readonly T[], width: number, run: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next;
      next += 1;
      results[index] = await run(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}
