import { CancellationScope, patched, proxyActivities } from '@temporalio/workflow';
import type { ReachActivities } from './messages';
import type { Run } from './run';
import { currentReachId } from './spending';

/**
 * Cancels the reaches that this one's agents made (R10), and through them the whole tree below. Whoever cancelled it, by the API
 * or by Temporal itself: it is the run that knows of its end. A registry that does not answer for long keeps it no longer.
 */
export async function endChildren({ input }: Run): Promise<void> {
  if (!patched('cancels-its-tree')) return;
  const { endChildren: end } = proxyActivities<ReachActivities>({
    scheduleToCloseTimeout: '30s',
    startToCloseTimeout: '10s',
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '2s' },
    summary: 'cancelling nested reaches',
  });
  const request = { tenant: input.tenant, reach_id: currentReachId() };
  await CancellationScope.nonCancellable(() => end(request)).catch(() => undefined);
}
