import { setTimeout as delay } from 'node:timers/promises';

const INTERVAL_MS = 25;
const REQUEST_TIMEOUT_MS = 2_000;

/** Calls `check` until it returns true. A check that throws counts as "not yet". Rejects when the signal aborts. */
export async function until(check: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    if (await check().catch(() => false)) return;
    await delay(INTERVAL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** Whether a GET is answered with 200, and with a body that `accept` likes. */
export async function answersOk(url: string, accept: (body: string) => boolean = () => true): Promise<boolean> {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    headers: { connection: 'close' },
  });
  const body = await response.text();
  return response.ok && accept(body);
}
