import { WorkflowFailedError, type Client } from '@temporalio/client';
import type { ReachLinks } from '../../protocol/shapes';
import type { ReachMemo, ReachOutput } from '../../../workflows/messages';
import { endFromFailure, failedView, resultBody, type ReachEnd, type ReachView } from '../reach-view';
import { bounded, fromTemporal, isWaitOver } from '../temporal-errors';

/** The last task of a run is confirmed within moments; its delivery may begin before, ms. */
const CLOSING_MS = 10_000;

/** One run that is over. */
export interface EndedRun {
  endedAt: Date;
  view: ReachView;
}

/**
 * What `GET` would answer of a reach if this run were its last: a callback tells the end of one run, whatever has become of
 * the reach since. Null when the run is not over soon.
 * @throws ReachError `not_found` once retention has taken it
 */
export async function readEndedRun(
  { client, links }: { client: Client; links: (id: string) => ReachLinks },
  id: string,
  runId: string,
): Promise<EndedRun | null> {
  const handle = client.workflow.getHandle(id, runId, { followRuns: false });
  try {
    const end = await bounded(client, () => endOf(handle.result() as Promise<ReachOutput>, id), CLOSING_MS);
    const description = await bounded(client, () => handle.describe());
    const memo = description.memo as ReachMemo;
    const view =
      end.status === 'completed'
        ? resultBody(id, memo, { output: end.output, replayed: false })
        : failedView(description, memo, { end, links: links(id) });
    return { endedAt: description.closeTime ?? description.startTime, view };
  } catch (caught) {
    if (isWaitOver(caught)) return null;
    throw fromTemporal(caught, 'read how the reach ended');
  }
}

async function endOf(result: Promise<ReachOutput>, id: string): Promise<ReachEnd> {
  try {
    return { status: 'completed', output: await result };
  } catch (caught) {
    if (caught instanceof WorkflowFailedError) return endFromFailure(caught.cause, id);
    throw caught;
  }
}
