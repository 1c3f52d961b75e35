import type { Info } from '@temporalio/activity';
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
}

/**
 * What earlier executions have left. Executions that neither made an attempt nor were turned away did not survive to say
 * so: their worker was lost, and the agent may have been called (W08).
 */
export function readProgress(input: InvokeInput, info: Info): Progress {
  const left = (info.heartbeatDetails ?? {}) as Partial<Progress>;
  const attempts = left.attempts ?? [];
  const turnedAway = left.turned_away ?? 0;
  const missing = Math.max(0, info.attempt - 1 - attempts.length - turnedAway);
  const lost = Array.from({ length: missing }, (_, index) => lostAttempt(input, info, attempts.length + index));
  const permit = left.permit ?? (info.attempt === 1 ? (input.permit ?? null) : null);
  return { attempts: [...attempts, ...lost], turned_away: turnedAway, permit };
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
