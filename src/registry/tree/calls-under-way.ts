/** One attempt of a reach. Attempts are numbered through a whole run. */
export interface CallUnderWay {
  runId: string;
  attempt: number;
}

/**
 * The calls that this process's worker has under way and that nobody has stopped. Its gateway needs not ask the server whether
 * such a call is still worked on when its agent makes a nested reach: that saves a round trip wherever both share a process.
 *
 * Sound for cancellation: a cancelled run looks for its children only when its call here has ended, so a child that was noted
 * before the call was seen under way is found.
 */
export class CallsUnderWay {
  readonly #calls = new Map<string, AbortSignal>();

  /** `signal` aborts when the call is stopped from outside. Call what is returned when the call is over. */
  begin(call: CallUnderWay, signal: AbortSignal): () => void {
    const key = keyOf(call);
    this.#calls.set(key, signal);
    return () => {
      // A call that lost its worker's task may run here twice; the later one stays.
      if (this.#calls.get(key) === signal) this.#calls.delete(key);
    };
  }

  has(call: CallUnderWay): boolean {
    return this.#calls.get(keyOf(call))?.aborted === false;
  }
}

function keyOf({ runId, attempt }: CallUnderWay): string {
  return `${runId}/${attempt}`;
}
