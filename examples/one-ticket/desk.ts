/** What the three agents share: the fields of a ticket's context, and what they notice on the way. */
import type { AgentContext } from '../../src/sdk/agent'; // in a project of your own: from 'agent-reach/agent'

/** The context of one ticket. */
export interface TicketFields {
  /** What was found out, in the order in which it was. */
  findings: string[];
  /** −1 (the customer's own fault) to 1 (ours); both inquiries move it. */
  liability: number;
  letter: string;
}

/** Told to whoever watches; the scenario prints it. */
export type Notice = (line: string) => void;

/** The context that the call works in. */
export function ticketOf({ context }: AgentContext): NonNullable<AgentContext['context']> {
  if (context === null) throw new Error('A ticket is worked on in a context: send it with a context_id');
  return context;
}

/**
 * Moves the liability of a ticket. Others may be at it too: whoever writes second reads again, and no word is lost.
 *
 * @param both have both inquiries read before either writes, so that they meet every time
 * @returns how often the field had to be read
 */
export async function weighIn(call: AgentContext, by: number, both: Meeting): Promise<number> {
  let reads = 0;
  await ticketOf(call).update<TicketFields>(async (fields) => {
    reads += 1;
    if (reads === 1) await both.arrive();
    fields.liability = round((fields.liability ?? 0) + by);
  });
  return reads;
}

/** A place where two wait for each other, but not for ever. */
export class Meeting {
  readonly #met: Promise<void>;
  #arrived = 0;
  #meet: () => void = () => undefined;

  constructor(private readonly patienceMs = 2_000) {
    this.#met = new Promise((resolve) => (this.#meet = resolve));
  }

  async arrive(): Promise<void> {
    this.#arrived += 1;
    if (this.#arrived === 2) this.#meet();
    await Promise.race([this.#met, new Promise((resolve) => setTimeout(resolve, this.patienceMs).unref())]);
  }
}

/** Work that takes so long, and stops when it is told to. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason as Error)), { once: true });
  });
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** The scenario tells what happens; an agent of your own logs. */
export const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
