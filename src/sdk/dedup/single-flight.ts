import { unlessAborted } from './patience';

/** One run at a time for each key; who comes meanwhile waits for it. A run that fails is nobody's but its own. */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /**
   * The value of the run under way for this key, else of `run`. When the run that was waited for fails, the next one in
   * line runs by itself (R7: a failed try is no duplicate).
   *
   * @throws what `run` throws; the signal's reason when it aborts while waiting
   */
  async share(key: string, { signal, run, joined }: Flight<T>): Promise<T> {
    for (let other = this.#running.get(key); other !== undefined; other = this.#running.get(key)) {
      const outcome = await unlessAborted(settled(other), signal);
      if (!outcome.ok) continue;
      joined();
      return outcome.value;
    }
    const mine = run().finally(() => this.#running.delete(key));
    this.#running.set(key, mine);
    return mine;
  }
}

/** One wish for a key's value. */
export interface Flight<T> {
  /** Ends the waiting, not the run. */
  signal: AbortSignal;
  run: () => Promise<T>;
  /** Called when another's value is taken. */
  joined: () => void;
}

const settled = <T>(promise: Promise<T>): Promise<{ ok: true; value: T } | { ok: false }> =>
  promise.then(
    (value) => ({ ok: true, value }),
    () => ({ ok: false }),
  );
