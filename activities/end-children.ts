import { ReachError } from '../src/protocol/reach-error';
import type { ActivityDependencies } from './dependencies';
import { asFailure } from './failure';

/** How long a child may stand noted and not be there: between note and start lie one look and one request, ms. */
const STARTING_MS = 15_000;
/** When one that is about to start is looked for again, ms. */
const AGAIN_MS = 500;

/**
 * The `endChildren` activity: cancels the reaches that were made by the agents of a cancelled one. A child may be noted
 * before it is there, so one that is not is looked for again; each cancels its own children in turn.
 */
export async function endChildren(deps: ActivityDependencies, { reach_id }: { reach_id: string }): Promise<void> {
  const children = await deps.tree.children(reach_id).catch((caught: unknown) => {
    throw asFailure(ReachError.from(caught), true);
  });
  const ends = await Promise.all(
    children.map(async (child) => ({ ...child, end: await deps.cancelReach(child.reachId) })),
  );
  const nowMs = new Date().getTime();
  const starting = ends.filter(({ end, notedMs }) => end === 'unknown' && Math.abs(nowMs - notedMs) < STARTING_MS);
  if (starting.length === 0 && ends.every(({ end }) => end !== 'failed')) return;
  const why = `${starting.length} nested reaches may be about to start`;
  throw asFailure(new ReachError('engine_unavailable', why), true, { delayMs: AGAIN_MS });
}
