import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks `check` until it answers something other than undefined, null or false, and hands that out. What it throws
 * meanwhile counts as "not yet" and is shown when the time is over. That is ample: a busy machine stalls for seconds, and
 * what must happen sooner says so.
 */
export async function waitFor<T>(
  what: string,
  check: () => T | Promise<T>,
  timeoutMs = 30_000,
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + timeoutMs;
  let last: unknown;
  while (performance.now() < end) {
    try {
      const value = await check();
      if (value !== undefined && value !== null && value !== false)
        return value as Exclude<T, false | null | undefined>;
      last = value;
    } catch (error) {
      last = error;
    }
    await sleep(25);
  }
  throw new Error(
    `${what} did not happen within ${timeoutMs} ms; last: ${last instanceof Error ? last.message : JSON.stringify(last)}`,
  );
}
