import { ReachError } from '../../protocol/reach-error';
import { isOverSize } from '../../policy/json-size';
import { agentText } from '../../protocol/agent-text';
import { isOwnInstanceId } from '../../protocol/instance-id';
import { loggable, type QueueMessage, type QueueReply } from '../../protocol/queue-wire';
import { parseJsonStrict } from '../../protocol/strict-json';
import type { JsonObject } from '../../protocol/shapes';
import type { AdapterAnswer, AdapterContext } from '../adapter';
import type { BrokerLink, Listener, Posted } from './broker-link';
import { codeOfAgent, commandFailure, connectFailure, type QueueFailure } from './wire-codes';

/** One call, and where it goes. */
export interface QueueCallParts {
  link: BrokerLink;
  queue: string;
  agentName: string;
  message: QueueMessage;
  context: AdapterContext;
}

/** Whoever has not taken the call up by this share of its time will not be waited for: another agent may still do it. */
const TAKE_SHARE = 0.5;

/**
 * One attempt over a queue: published, taken up by some instance, answered. It ends with the first final reply, at its deadline, when
 * nobody takes it up in time, or when it is aborted; whichever it is, the queue does not keep it.
 */
export class QueueCall {
  #taken = false;
  #posted: Posted | undefined;
  #settle!: { resolve: (answer: AdapterAnswer) => void; reject: (error: unknown) => void };
  readonly #outcome: Promise<AdapterAnswer>;

  constructor(private readonly parts: QueueCallParts) {
    this.#outcome = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.#outcome.catch(() => undefined);
  }

  /** @throws ReachError of the wire table; the signal's reason when it is aborted */
  async run(): Promise<AdapterAnswer> {
    const { link, queue, message, context } = this.parts;
    const endsAtMs = performance.now() + context.budgetMs;
    await this.#connected();
    const stopListening = link.listen(this.#listener());
    const leftMs = endsAtMs - performance.now();
    const timers = [
      setTimeout(() => void this.#giveUpWaiting(leftMs), leftMs * TAKE_SHARE),
      setTimeout(() => this.#settle.reject(this.#late()), leftMs),
    ];
    const onAbort = () => this.#settle.reject(context.signal.reason);
    context.signal.addEventListener('abort', onAbort, { once: true });
    let isAnswered = false;
    try {
      context.signal.throwIfAborted();
      this.#posted = await link.publish(queue, message, leftMs).catch((caught: unknown) => {
        throw this.#failure(commandFailure(caught), caught);
      });
      const answer = await this.#outcome;
      isAnswered = true;
      return answer;
    } finally {
      context.signal.removeEventListener('abort', onAbort);
      timers.forEach(clearTimeout);
      stopListening();
      // What was answered is gone already. Where Redis does not answer, the key runs out by itself.
      if (this.#posted && !isAnswered) void link.end(this.#posted).catch(() => undefined);
    }
  }

  async #connected(): Promise<void> {
    const { link, context } = this.parts;
    const inTime = AbortSignal.timeout(Math.ceil(context.budgetMs * TAKE_SHARE));
    try {
      await link.ready(AbortSignal.any([context.signal, inTime]));
    } catch (caught) {
      context.signal.throwIfAborted();
      throw this.#failure(connectFailure(caught), caught);
    }
  }

  #listener(): Listener {
    const { queue, message, agentName } = this.parts;
    return {
      queue,
      id: message.id,
      reply: (reply) => this.#hear(reply),
      lost: (why) => {
        const text = `The Redis of agent ${agentName}'s queue ${why}; the call may have been worked on`;
        this.#settle.reject(new ReachError('agent_unavailable', text, { received: this.#received() }));
      },
    };
  }

  #hear(reply: Parameters<Listener['reply']>[0]): void {
    this.#taken = true;
    // As for those that register: what else a reply may say goes into no attempt and no record.
    if (reply.type !== 'malformed' && isOwnInstanceId(reply.instance)) this.parts.context.takenBy?.(reply.instance);
    if (reply.type === 'taken') return;
    try {
      this.#settle.resolve(answerOf(reply, this.parts.context));
    } catch (caught) {
      this.#settle.reject(caught);
    }
  }

  async #giveUpWaiting(leftMs: number): Promise<void> {
    const { link, queue, agentName } = this.parts;
    if (this.#taken || !this.#posted) return;
    // Where Redis does not answer, the deadline decides.
    const state = await link.withdraw(this.#posted).catch(() => 'taken' as const);
    if (state !== 'withdrawn') return;
    const text = `Nobody took the call of agent ${agentName} from its queue ${queue} within ${Math.round(leftMs * TAKE_SHARE)} ms; start more consumers, or see why they are busy`;
    this.#settle.reject(new ReachError('agent_unavailable', text, { received: 'no' }));
  }

  #late(): ReachError {
    const { agentName, context } = this.parts;
    const text = `Agent ${agentName} did not answer within ${Math.round(context.budgetMs)} ms; it may still have done the work`;
    return new ReachError('agent_timeout', text, { received: this.#received() });
  }

  #received(): 'yes' | 'unknown' {
    return this.#taken ? 'yes' : 'unknown';
  }

  #failure({ code, received, says }: QueueFailure, cause: unknown): ReachError {
    return new ReachError(code, `The Redis of agent ${this.parts.agentName}'s queue ${says}`, {
      received,
      cause: loggable(cause),
    });
  }
}

type Final = Exclude<QueueReply, { type: 'taken' }> | { type: 'malformed' };

/** A final reply as the platform's answer. @throws ReachError what the agent says, or what is wrong with how it says it */
export function answerOf(
  reply: Final,
  { maxResponseBytes, unreadAboveBytes = Infinity }: Pick<AdapterContext, 'maxResponseBytes' | 'unreadAboveBytes'>,
): AdapterAnswer {
  switch (reply.type) {
    case 'accepted':
      return { kind: 'accepted' };
    case 'uploaded':
      return { kind: 'uploaded', ref: reply.outputRef };
    case 'failed': {
      const { code, message, retryAfterMs } = reply;
      const text = agentText(message) || `The agent failed with ${agentText(code, 64) || 'no code'}`;
      throw new ReachError(codeOfAgent(code), text, { received: 'yes', retryAfterMs });
    }
    case 'answer':
      return readOutput(reply.output, { maxResponseBytes, unreadAboveBytes });
    case 'malformed':
      throw new ReachError('agent_protocol_error', 'The agent sent a reply of no known type', { received: 'yes' });
  }
}

function readOutput(
  output: Buffer,
  { maxResponseBytes, unreadAboveBytes }: { maxResponseBytes: number; unreadAboveBytes: number },
): AdapterAnswer {
  if (output.length > maxResponseBytes) throw tooLarge(maxResponseBytes);
  if (output.length > unreadAboveBytes) return { kind: 'unread', content: output };
  let parsed;
  try {
    parsed = parseJsonStrict(output);
  } catch (caught) {
    const deep = ReachError.from(caught).code === 'input_too_deep';
    const why = caught instanceof ReachError ? caught.message : 'not JSON';
    throw new ReachError(
      deep ? 'response_schema_mismatch' : 'agent_protocol_error',
      `The agent answered with an output that cannot be read: ${why}`,
      { received: 'yes' },
    );
  }
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed))
    throw new ReachError('agent_protocol_error', 'The agent answered with JSON that is not an object', {
      received: 'yes',
    });
  if (isOverSize(parsed, output.length, maxResponseBytes)) throw tooLarge(maxResponseBytes);
  return { kind: 'answer', output: parsed as JsonObject, bytes: output.length };
}

function tooLarge(limitBytes: number): ReachError {
  return new ReachError('agent_response_too_large', `The agent's answer is over ${limitBytes} bytes`, {
    received: 'yes',
    extra: { details: { limit_bytes: limitBytes } },
  });
}
