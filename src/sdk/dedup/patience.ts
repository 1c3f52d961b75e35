import { isRetryableByCaller } from '../../protocol/error-codes';
import { ReachError } from '../../protocol/reach-error';
import { pauseMs } from '../retry';
import { Budget, sleep, timedSignal } from '../time';

/** How long to bear with a store that fails or hangs. */
export interface Patience {
  /** For all tries and pauses, ms. */
  forMs: number;
  /** Ends the waiting; what was asked of the store may still happen. */
  signal?: AbortSignal;
}

/**
 * Asks a store again while it fails and time is left, with growing pauses. A refusal that another try would only repeat
 * (a wrong API key) is not asked twice.
 *
 * @throws the last error of the store; `engine_unavailable` when it hangs; the signal's reason
 */
export async function patiently<T>(ask: () => Promise<T>, { forMs, signal }: Patience): Promise<T> {
  const timer = timedSignal(forMs, () => hangs(forMs), [signal]);
  const budget = new Budget(forMs);
  try {
    for (let n = 1; ; n += 1) {
      try {
        return await unlessAborted(ask(), timer.signal);
      } catch (caught) {
        timer.signal.throwIfAborted();
        const final = caught instanceof ReachError && !isRetryableByCaller(caught.code);
        const pause = pauseMs(n, undefined, Math.random);
        if (final || pause >= budget.remainingMs) throw caught;
        await sleep(pause, timer.signal);
      }
    }
  } finally {
    timer.clear();
  }
}

const hangs = (ms: number) =>
  new ReachError('engine_unavailable', `The deduplication store did not answer within ${Math.round(ms)} ms`);

/** The promise, or the signal's reason as soon as it aborts. Leaves no listener behind. */
export async function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return promise;
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}
