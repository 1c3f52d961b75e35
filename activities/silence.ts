import { Context } from '@temporalio/activity';
import { ReachError } from '../src/protocol/reach-error';
import type { SilenceInput } from '../workflows/messages';
import type { ActivityDependencies } from './dependencies';
import { asFailure } from './failure';

/** Looks within one `ack_timeout_ms`: silence is told at most this part of it late. */
const LOOKS = 4;
const MIN_LOOK_MS = 100;

/** What one look hands to the next. */
interface Watched {
  sign: string | null;
  /** Looks in a row that found nothing new. */
  quiet: number;
}

/**
 * The `awaitSilence` activity: fails, to be retried by the server without a new event, until an agent that accepted has given no
 * sign for its `ack_timeout_ms`. What it compares are signs, not times, so that no two clocks need to agree.
 */
export async function awaitSilence(deps: ActivityDependencies, input: SilenceInput): Promise<void> {
  const { info } = Context.current();
  const before = (info.heartbeatDetails as Watched | undefined) ?? { sign: null, quiet: -1 };
  const sign = await deps.tree
    .lastSign({ reachId: input.reach_id, runId: input.run_id, attempt: input.attempt })
    .catch(() => undefined);
  // While nobody can tell, nobody is silent.
  const quiet = sign === undefined ? before.quiet : sign === before.sign ? before.quiet + 1 : 0;
  if (quiet >= LOOKS) return;
  Context.current().heartbeat({ sign: sign === undefined ? before.sign : sign, quiet: Math.max(0, quiet) });
  throw asFailure(new ReachError('agent_busy', 'The agent has given a sign, or may still'), true, {
    delayMs: Math.max(MIN_LOOK_MS, Math.ceil(input.ack_timeout_ms / LOOKS)),
  });
}
