import type { Info } from '@temporalio/activity';
import { mayRepeat } from '../src/policy/retry';
import type { Problem } from '../src/protocol/reach-error';
import type { AttemptRecord } from '../src/protocol/shapes';
import type { InvokeInput } from '../workflows/messages';

/** What an `invoke` activity hands from execution to execution in its heartbeat. */
export interface Progress {
  /** Attempts made or lost so far. */
  attempts: AttemptRecord[];
  /** Executions that were turned away before the agent was called: no attempts. */
  turned_away: number;
  /** Slot of the agent's concurrent retries that is held. */
  permit: number | null;
  /** The agent was given up with this, and the server has not heard of it yet. */
  given_up?: { problem: Problem; received: AttemptRecord['received'] };
}

/**
 * What earlier executions have left. Executions that neither made an attempt nor were turned away did not survive to say
 * so: their worker was lost, and the agent may have been called (W08). Where that may not be repeated, only the first of
 * them can have called, and none after a call on record: the others came to say that it ends here, and did not survive that.
 */
export function readProgress(input: InvokeInput, info: Info): Progress {
  const left = (info.heartbeatDetails ?? {}) as Partial<Progress>;
  const attempts = left.attempts ?? [];
  const turnedAway = left.turned_away ?? 0;
  const terms = { semantics: input.envelope.delivery_semantics, idempotent: input.idempotent };
  const called = attempts.some(({ received }) => !mayRepeat(received, terms));
  const most = mayRepeat('unknown', terms) ? Infinity : Number(!called);
  const untold = Math.max(0, info.attempt - 1 - attempts.length - turnedAway);
  const missing = left.given_up ? 0 : Math.min(most, untold);
  const lost = Array.from({ length: missing }, (_, index) => lostAttempt(input, info, attempts.length + index));
  const permit = left.permit ?? (info.attempt === 1 ? (input.permit ?? null) : null);
  return {
    attempts: [...attempts, ...lost],
    turned_away: turnedAway,
    permit,
    ...(left.given_up && { given_up: left.given_up }),
  };
}

function lostAttempt(input: InvokeInput, info: Info, before: number): AttemptRecord {
  return {
    n: input.attempts_before + before + 1,
    agent_name: input.agent_name,
    agent_version: input.agent_version,
    instance: null,
    started_at: new Date(info.scheduledTimestampMs).toISOString(),
    duration_ms: 0,
    received: 'unknown',
    code: 'worker_lost',
    message: 'The worker was lost in the middle of the attempt',
  };
}
