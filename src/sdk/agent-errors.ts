import { ReachError } from '../protocol/reach-error';

/** Thrown by a handler: this request will never work, do not send it again (`agent_rejected`, deterministic). */
export class AgentRejected extends Error {
  override readonly name = 'AgentRejected';
}

/** Thrown by a handler: not now, ask again in `retryAfterMs` (`agent_busy`, transient). */
export class AgentBusy extends Error {
  override readonly name = 'AgentBusy';
  constructor(
    message: string,
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}

/** Thrown by a handler: it failed and may work later (`agent_error`, transient), at best in `retryAfterMs`. */
export class AgentFailed extends Error {
  override readonly name = 'AgentFailed';
  constructor(
    message: string,
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}

/** Why a call's signal aborted. */
export type StopReason = 'cancelled' | 'deadline' | 'shutdown';

/** The reason of a call's aborted signal; what libraries throw when they are handed the signal. */
export class CallStopped extends Error {
  override readonly name: string;
  constructor(readonly reason: StopReason) {
    const text = {
      cancelled: 'The reach was cancelled',
      deadline: "The attempt's deadline has passed",
      shutdown: 'The agent is shutting down',
    };
    super(text[reason]);
    this.name = reason === 'deadline' ? 'TimeoutError' : 'AbortError';
  }
}

/**
 * What a handler's exception means on the wire. `stopped` is why its signal had aborted by then, if it had: the
 * exception is then taken for its consequence. Only the message travels; the rest is for the agent's own log.
 */
export function failureOf(caught: unknown, stopped?: StopReason): ReachError {
  const message = caught instanceof Error ? caught.message : String(caught);
  const options = { cause: caught, retryAfterMs: retryAfterOf(caught) };
  if (caught instanceof AgentRejected) return new ReachError('agent_rejected', message, options);
  if (caught instanceof AgentBusy) return new ReachError('agent_busy', message, options);
  if (caught instanceof CallFault) return caught.error;
  if (stopped === 'deadline')
    return new ReachError('agent_timeout', 'The agent did not finish within its deadline', options);
  if (stopped === 'shutdown')
    return new ReachError('agent_unavailable', 'The agent shut down before it finished; it may have begun', options);
  return new ReachError('agent_error', message || 'The agent failed without a message; its log has more', options);
}

function retryAfterOf(caught: unknown): number | undefined {
  return caught instanceof AgentBusy || caught instanceof AgentFailed ? caught.retryAfterMs : undefined;
}

/** A failure whose code is already decided: a bad call or a bad answer. Internal to the SDK. */
export class CallFault extends Error {
  constructor(readonly error: ReachError) {
    super(error.message);
  }
}
