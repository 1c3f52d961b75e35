import { ReachError } from '../protocol/reach-error';
import type { AgentLog } from './agent-types';

/** What is wrong between an agent and its gateway: one that stays away is said once, not every few seconds. */
export class Trouble {
  #known: string | undefined;

  constructor(private readonly log: AgentLog) {}

  /** Logs an error; at `debug` while it is the same as before. */
  say(error: Error): void {
    const level = error.message === this.#known ? 'debug' : 'warn';
    this.#known = error.message;
    this.log[level](error instanceof ReachError ? { code: error.code } : { err: error }, error.message);
  }

  /** All is well again: the next error is news. */
  over(): void {
    this.#known = undefined;
  }
}
