/** Time for the SDK: monotonic, injectable, abortable. */

/** Milliseconds from a monotonic clock. */
export type Clock = () => number;

/** The process's monotonic clock. */
export const monotonic: Clock = () => performance.now();

/** `setTimeout` fires at once above this, so longer waits are cut to it (24.8 days). */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A point in monotonic time that work must end by. */
export class Budget {
  readonly #endsAt: number;

  /** @param totalMs how long, from now; `Infinity` never ends */
  constructor(
    readonly totalMs: number,
    private readonly clock: Clock = monotonic,
  ) {
    this.#endsAt = clock() + totalMs;
  }

  /** What is left, ms; never negative. */
  get remainingMs(): number {
    return Math.max(0, this.#endsAt - this.clock());
  }
}

/** Resolves after `ms`; rejects with the signal's reason when it aborts first. Leaves no timer or listener behind. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const timer = setTimeout(done, Math.min(ms, MAX_TIMER_MS));
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    function done() {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** A signal that follows `outers` and also aborts with `reason()` after `ms`. Call `clear` when done: nothing is left behind. */
export function timedSignal(
  ms: number,
  reason: () => Error,
  outers: (AbortSignal | undefined)[],
): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(reason()), Math.min(ms, MAX_TIMER_MS));
  const follow = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  for (const outer of outers) {
    if (outer?.aborted) controller.abort(outer.reason);
    outer?.addEventListener('abort', follow, { once: true });
  }
  return {
    signal: controller.signal,
    clear: () => {
      clearTimeout(timer);
      for (const outer of outers) outer?.removeEventListener('abort', follow);
    },
  };
}

/** True when `work` settles within `ms`; leaves no timer behind, and `work` running. Its rejection counts as settled. */
export async function settledWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>(
    (resolve) => (timer = setTimeout(() => resolve(false), Math.min(ms, MAX_TIMER_MS))),
  );
  const done = work.then(
    () => true,
    () => true,
  );
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}
