import { CancellationScope, log, proxyLocalActivities, TemporalFailure, workflowInfo } from '@temporalio/workflow';
import type { NotifyActivities } from './delivery-messages';
import type { ReachInput, ReachOutput } from './messages';

/** Shorter than what the server grants a reach beyond its own deadline, ms. */
const PATIENCE_MS = 8_000;

/**
 * Runs a reach, and when it has ended has its end told to whoever was named in the envelope (R5). A reach that names
 * nobody runs as if this were not here: no event, no marker.
 */
export async function tellingItsEnd(
  input: ReachInput,
  work: (input: ReachInput) => Promise<ReachOutput>,
): Promise<ReachOutput> {
  const { callback, reply_to } = input.envelope;
  if (!callback && !reply_to) return work(input);
  try {
    const output = await work(input);
    await notify(input);
    return output;
  } catch (caught) {
    // Anything else fails the task, not the reach: it is not over.
    if (caught instanceof TemporalFailure) await notify(input);
    throw caught;
  }
}

/**
 * Only starts the deliveries, which read the end once the run is closed: what they tell is what `GET` answers, and a
 * receiver that hangs delays nothing. Not starting them ends no reach differently; they can be started by hand.
 */
async function notify({ envelope }: ReachInput): Promise<void> {
  const { workflowId, runId } = workflowInfo();
  const { callback, reply_to } = envelope;
  const { notify: start } = proxyLocalActivities<NotifyActivities>({
    startToCloseTimeout: '3s',
    scheduleToCloseTimeout: PATIENCE_MS,
    retry: { initialInterval: 100, backoffCoefficient: 2, maximumInterval: '2s' },
  });
  const targets = { ...(callback && { callback }), ...(reply_to && { reply_to }) };
  try {
    // A cancelled reach has an end as well.
    await CancellationScope.nonCancellable(() => start({ reach_id: workflowId, run_id: runId, ...targets }));
  } catch (error) {
    log.warn('the end of the reach is told to nobody; redrive its callback by hand', { error });
  }
}
