import { Context } from '@temporalio/activity';
import { ReachError } from '../src/protocol/reach-error';
import type { ActivityDependencies } from './dependencies';
import { asFailure } from './failure';

/** How long a child may stand noted and not be there: between note and start lie one look and one request, ms. */
const STARTING_MS = 15_000;
/** When one that is about to start is looked for again, ms. */
const AGAIN_MS = 500;

/**
 * The `endChildren` activity: cancels the reaches that were made by the agents of a cancelled one. A child may be noted
 * before it is there, so one that is not is looked for again; each cancels its own children in turn. Slots of concurrent
 * retries that the cancelled one held, asleep between two attempts, come free (R27).
 */
export async function endChildren(deps: ActivityDependencies, { reach_id }: { reach_id: string }): Promise<void> {
  deps.retryPermits.releaseAll(reach_id).catch(() => undefined);
  const children = await deps.tree.children(reach_id).catch((caught: unknown) => {
    throw asFailure(ReachError.from(caught), true);
  });
  const ends = await Promise.all(children.map(({ reachId }) => deps.cancelReach(reachId)));
  const starting = lookedForMs() < STARTING_MS ? ends.filter((end) => end === 'unknown') : [];
  if (starting.length === 0 && !ends.includes('failed')) return;
  const why = `${starting.length} nested reaches may be about to start`;
  throw asFailure(new ReachError('engine_unavailable', why), true, { delayMs: AGAIN_MS });
}

/**
 * How long this has been going on, ms, both ends on the server's clock. What was noted before the cancellation has started by
 * STARTING_MS after it; when it was noted is told by the clock of another host, which may be minutes off.
 */
function lookedForMs(): number {
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = Context.current().info;
  return currentAttemptScheduledTimestampMs - scheduledTimestampMs;
}
