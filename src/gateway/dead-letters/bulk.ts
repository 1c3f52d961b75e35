import type { BulkRedriveRequest, BulkRedriveResult, DeadLetterItem } from '../../protocol/dead-letter';
import { ReachError } from '../../protocol/reach-error';
import type { Clock } from '../../registry';
import type { DeadLetterLister } from './list';
import { mapLimited } from './map-limited';
import type { Redriver } from './redrive';
import { CONSENT_REASON } from './redrive';

const CONCURRENT_REDRIVES = 8;
/** What is not begun by then is reported and left for the next request, ms. */
const BULK_MS = 60_000;

/**
 * Redrives every open dead letter that fits a filter, each of the runs found at the beginning at most once: a reach that fails
 * again meanwhile is left for the next request.
 */
export class BulkRedriver {
  constructor(private readonly options: { lister: DeadLetterLister; redriver: Redriver; clock: Clock }) {}

  /** @throws ReachError `engine_unavailable` when they cannot be listed */
  async redrive(request: BulkRedriveRequest, by: string): Promise<BulkRedriveResult> {
    const { lister, clock } = this.options;
    const endsMs = clock.monotonicMs() + BULK_MS;
    const found = await lister.open(request.filter, request.limit);
    const result: BulkRedriveResult = { matched: found.length, redriven: [], skipped: [], failed: [] };
    if (request.dry_run) {
      return { ...result, would_redrive: found.map(({ reach_id, run_id }) => ({ reach_id, run_id })) };
    }
    await mapLimited(found, CONCURRENT_REDRIVES, (item) =>
      clock.monotonicMs() < endsMs ? this.one(item, { request, by, result }) : notTried(item, result),
    );
    return result;
  }

  private async one(
    { reach_id, run_id }: DeadLetterItem,
    { request, by, result }: { request: BulkRedriveRequest; by: string; result: BulkRedriveResult },
  ): Promise<void> {
    try {
      const order = { by, acceptRepeat: request.accept_repeat, runId: run_id };
      const { run_id: newRunId, replayed } = await this.options.redriver.redrive(reach_id, order);
      if (replayed) result.skipped.push({ reach_id, reason: `was redriven before, as run ${newRunId}` });
      else result.redriven.push({ reach_id, run_id: newRunId });
    } catch (caught) {
      const { code, message, options } = ReachError.from(caught);
      if (code === 'reach_terminal') {
        const consent = options.extra?.reach_status === 'outcome_unknown';
        result.skipped.push({ reach_id, reason: consent ? CONSENT_REASON : message });
      } else result.failed.push({ reach_id, code, message });
    }
  }
}

async function notTried({ reach_id }: DeadLetterItem, { failed }: BulkRedriveResult): Promise<void> {
  const message = `was not tried within ${BULK_MS / 1_000} s; send the request again`;
  failed.push({ reach_id, code: 'engine_unavailable', message });
}
