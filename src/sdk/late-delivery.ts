import { ReachError } from '../protocol/reach-error';
import type { JsonObject } from '../protocol/shapes';
import type { AgentLog } from './agent-types';
import type { RunningCall } from './call-runner';
import type { Transport } from './transport';

/** How often an agent that accepted gives a sign where its descriptor sets no `ack_timeout_ms`, ms. */
const DEFAULT_SIGN_MS = 10_000;
/** So many signs within one `ack_timeout_ms`: a lost one does no harm. */
const SIGNS_PER_TIMEOUT = 4;
const SIGN_TIMEOUT_MS = 5_000;
/** How long a result is offered to a gateway that is away, ms. */
const RESULT_PATIENCE_MS = 600_000;

/** An accepted call that is still worked on. */
export interface LateCall {
  reachId: string;
  token: string;
  running: RunningCall;
  /** Stops the work: nobody waits for it any more. */
  stop(): void;
  log: AgentLog;
}

/**
 * Delivers what an agent answers after it has said "accepted" (R5): signs of life while it works, which also tell when the reach is
 * over or cancelled, and in the end its result or its failure.
 */
export class LateDelivery {
  readonly #signMs: number;
  readonly #pending = new Set<Promise<void>>();

  constructor(
    private readonly transport: Transport,
    ackTimeoutMs: number | undefined,
  ) {
    this.#signMs =
      ackTimeoutMs === undefined ? DEFAULT_SIGN_MS : Math.max(50, Math.floor(ackTimeoutMs / SIGNS_PER_TIMEOUT));
  }

  /** Takes an accepted call over. */
  follow(call: LateCall): void {
    const done = this.#toTheEnd(call).finally(() => this.#pending.delete(done));
    this.#pending.add(done);
  }

  /** Resolves when all results that are there were taken, or will not be. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }

  async #toTheEnd(call: LateCall): Promise<void> {
    const signs = setInterval(() => void this.#sign(call), this.#signMs);
    void this.#sign(call);
    try {
      const body = await call.running.answer.then(
        (output): { output: JsonObject } => ({ output }),
        (caught: unknown) => ({ error: failureBody(ReachError.from(caught)) }),
      );
      await this.#post(call, 'result', body, RESULT_PATIENCE_MS);
    } catch (caught) {
      const { code, message } = ReachError.from(caught);
      call.log.warn({ code }, `the result could not be delivered: ${message}`);
    } finally {
      clearInterval(signs);
    }
  }

  /** A gateway that is away is no reason to stop; one that says that it is over is. */
  async #sign(call: LateCall): Promise<void> {
    await this.#post(call, 'progress', {}, SIGN_TIMEOUT_MS).catch((caught: unknown) => {
      if (caught instanceof ReachError && caught.code === 'reach_terminal') call.stop();
    });
  }

  async #post(
    { reachId, token }: LateCall,
    what: 'result' | 'progress',
    body: object,
    timeoutMs: number,
  ): Promise<void> {
    await this.transport.request({
      method: 'POST',
      path: `/v1/reaches/${encodeURIComponent(reachId)}/${what}`,
      body,
      headers: { 'x-reach-token': token },
      timeoutMs,
      retry: what === 'result' ? 'always' : 'unsent',
    });
  }
}

/** What the platform may be told of it: one of the agent's codes, and a message of a size. */
function failureBody({ code, message }: ReachError): { code: string; message: string } {
  return { code: code.startsWith('agent_') ? code : 'agent_error', message: message.slice(0, 2_000) || 'failed' };
}
