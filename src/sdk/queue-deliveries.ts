import { setMaxListeners } from 'node:events';
import { MAX_INLINE_BYTES } from '../protocol/payload-ref';
import { loggable, type QueueVerdict } from '../protocol/queue-wire';
import { ReachError } from '../protocol/reach-error';
import type { JsonObject } from '../protocol/shapes';
import { CallStopped } from './agent-errors';
import type { AgentLog, QueueHostOptions } from './agent-types';
import { uploaded, withPayload, type PayloadStore } from './by-reference';
import type { CallRunner } from './call-runner';
import { compactOver } from './large-payloads';
import type { LateDelivery } from './late-delivery';
import type { HeldCall, QueueConnection, QueueEntry } from './queue-connection';
import { monotonic, settledWithin, sleep } from './time';

/** What the messages of a queue are dealt with by. */
export interface QueueDeliveriesParts {
  connection: Pick<QueueConnection, 'take' | 'keep' | 'done' | 'leave' | 'discard'>;
  runner: CallRunner;
  /** So many are worked on at once; what is given out beyond that waits, and may be taken over by others meanwhile. */
  maxConcurrency: number;
  payloads: PayloadStore;
  /** Delivers what is answered after "accepted". */
  late: LateDelivery;
  options: Pick<QueueHostOptions, 'acceptAfterMs'>;
  log: AgentLog;
}

/** A call that this process works on, and how it is stopped. */
interface Work extends HeldCall {
  stop: AbortController;
  endsAtMs: number;
  /** What goes on after the call was accepted. */
  late?: Promise<unknown>;
}

/** Pause before an answer is offered to Redis again, ms, ±50 %. */
const RETRY_MS = 200;
/** Kept back from an attempt for reporting its end: a twentieth, at most this, ms. */
const RETURN_MS = 100;
const RETURN_SHARE = 0.05;

/** Deals with messages, each from its taking up to its answer, and knows those that are worked on. */
export class QueueDeliveries {
  readonly #held = new Map<string, Work>();
  readonly #pending = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #working = 0;
  #hasSeenForeign = false;
  readonly #closed = new AbortController();

  constructor(private readonly parts: QueueDeliveriesParts) {
    setMaxListeners(0, this.#closed.signal);
  }

  /** Messages in hand. */
  get size(): number {
    return this.#pending.size;
  }

  /** Deals with a message, unless it is in hand already. `ended` is told when it is over. */
  begin(entry: QueueEntry, ended: () => void): void {
    if (this.#pending.has(entry.entry)) return;
    const done = this.#inTurn(() => this.#deal(entry))
      .catch((caught: unknown) => {
        this.parts.log.warn({ err: loggable(caught), entry: entry.entry }, 'a message was left to its redelivery');
      })
      .finally(() => {
        this.#pending.delete(entry.entry);
        ended();
      });
    this.#pending.set(entry.entry, done);
  }

  /** Tells Redis that all of them are worked on, and stops those that nobody waits for, or that others have now. */
  async renew(): Promise<void> {
    const over = await this.parts.connection.keep([...this.#held.values()]);
    for (const { entry } of over) this.#held.get(entry)?.stop.abort(new CallStopped('cancelled'));
  }

  /** Resolves when nothing is in hand. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending.values());
  }

  /** Gives up what Redis has not taken by now. */
  close(): void {
    this.#closed.abort();
  }

  async #inTurn(deal: () => Promise<void>): Promise<void> {
    while (this.#working >= this.parts.maxConcurrency)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#working += 1;
    try {
      await deal();
    } finally {
      this.#working -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #deal({ entry, message, isForeign }: QueueEntry): Promise<void> {
    const { connection, log } = this.parts;
    if (isForeign) return this.#leave(entry);
    if (message === null) {
      log.warn({ entry }, 'the queue holds an entry that is no call; it was removed');
      return connection.discard(entry);
    }
    const held = { entry, message, receivedAt: new Date().toISOString() };
    const taken = await connection.take(held);
    if (taken.kind === 'gone' || taken.kind === 'lost') return;
    const work: Work = { ...held, stop: new AbortController(), endsAtMs: monotonic() + taken.leftMs };
    this.#held.set(entry, work);
    try {
      const verdict = taken.kind === 'poison' ? givenUp(taken.deliveries - 1) : await this.#verdict(work, taken.leftMs);
      await this.#report(work, verdict);
      // Accepted work takes its place until it is done.
      await work.late;
    } finally {
      this.#held.delete(entry);
    }
  }

  /** It comes again as long as it is wanted: said once. */
  #leave(entry: string): Promise<void> {
    const what = 'the queue holds calls of a newer version of the protocol; they are left to newer agents';
    if (!this.#hasSeenForeign) this.parts.log.warn({ entry }, what);
    this.#hasSeenForeign = true;
    return this.parts.connection.leave(entry);
  }

  async #verdict(work: Work, leftMs: number): Promise<QueueVerdict> {
    try {
      return await this.#work(work, leftMs - Math.min(RETURN_MS, leftMs * RETURN_SHARE));
    } catch (caught) {
      return failed(ReachError.from(caught));
    }
  }

  async #work(work: Work, limitMs: number): Promise<QueueVerdict> {
    const { message, stop } = work;
    const { runner, payloads, options, late, log } = this.parts;
    const { traceparent, reachToken: token } = message;
    const naming: Record<string, string> = token === '' ? {} : { 'x-reach-token': token };
    const openEnded = options.acceptAfterMs !== undefined && token !== '';
    const call = await withPayload(message.call, payloads, stop.signal);
    const limits = openEnded ? { openEnded } : { limitMs };
    const running = runner.start(call, { traceparent, naming, signal: stop.signal, ...limits });
    if (openEnded && !(await settledWithin(running.answer, options.acceptAfterMs!))) {
      const end = () => stop.abort(new CallStopped('cancelled'));
      late.follow({ reachId: message.call.reach_id, token, running, stop: end, log });
      // Its end is told by the late delivery from now on, not by the queue.
      this.#held.delete(work.entry);
      work.late = running.answer.catch(() => undefined);
      return { type: 'accepted' };
    }
    return this.#answer(await running.answer, stop.signal);
  }

  async #answer(output: JsonObject, signal: AbortSignal): Promise<QueueVerdict> {
    const content = compactOver(output, MAX_INLINE_BYTES);
    if (!content) return { type: 'answer', output: JSON.stringify(output) };
    return { type: 'uploaded', outputRef: await uploaded(content, this.parts.payloads, signal) };
  }

  /** Until Redis has taken it, or its time is over. */
  async #report(work: Work, verdict: QueueVerdict): Promise<void> {
    const { connection, log } = this.parts;
    for (;;) {
      try {
        const state = await connection.done(work, verdict);
        if (state !== 'done') log.info({ reach_id: work.message.call.reach_id, state }, 'nobody waits for the answer');
        return;
      } catch (caught) {
        if (monotonic() + RETRY_MS > work.endsAtMs || this.#closed.signal.aborted) throw caught;
        await sleep(RETRY_MS * (0.5 + Math.random()), this.#closed.signal).catch(() => undefined);
      }
    }
  }
}

/** A message that took down whoever tried it. */
function givenUp(times: number): QueueVerdict {
  const message = `The agent was lost each of the ${times} times that it was given this call; it was not begun again`;
  return { type: 'failed', code: 'worker_lost', message };
}

/** What the platform may be told of it: one of the agent's codes. */
function failed({ code, message, options: { retryAfterMs } }: ReachError): QueueVerdict {
  return {
    type: 'failed',
    code: code.startsWith('agent_') ? code : 'agent_error',
    message: message.slice(0, 2_000),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}
