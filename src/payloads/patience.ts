import { setTimeout as sleep } from 'node:timers/promises';
import { ReachError } from '../protocol/reach-error';

/** How long a store that does not answer is asked again. */
export interface Patience {
  /** From the first try on, ms; default {@link KEEP_PATIENCE_MS}. There is always one try. */
  withinMs?: number;
  /** Ends the waiting. */
  signal?: AbortSignal;
}

/** Where nothing says how much time there is: longer than a store takes to change over, shorter than callers wait. */
export const KEEP_PATIENCE_MS = 4_500;
/** Waits between the tries, ms; the last one again and again. */
const WAITS_MS = [200, 1_000, 3_000];

/** Asks again while the store does not answer, as long as another wait fits. @throws what `ask` threw last; `AbortError` */
export async function patiently<T>(
  ask: () => Promise<T>,
  { withinMs = KEEP_PATIENCE_MS, signal }: Patience = {},
): Promise<T> {
  const endsMs = performance.now() + withinMs;
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (caught) {
      const waitMs = WAITS_MS[tries] ?? WAITS_MS.at(-1)!;
      if (ReachError.from(caught).code !== 'engine_unavailable') throw caught;
      const leftMs = endsMs - performance.now();
      if (leftMs <= 0) throw caught;
      await sleep(Math.min(waitMs, leftMs), undefined, { signal });
    }
  }
}
