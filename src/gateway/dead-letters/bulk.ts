import type { BulkRedriveRequest, BulkRedriveResult, DeadLetterItem } from '../../protocol/dead-letter';
import { ReachError } from '../../protocol/reach-error';
import type { Clock } from '../../registry';
import type { DeadLetterLister } from './list';
import { mapLimited } from './map-limited';
import type { Redriver } from './redrive';
import { CONSENT_REASON, needsConsent } from './redrive';
import type { RunReader } from './runs';

const CONCURRENT_REDRIVES = 8;
/** What is not begun by then is reported and left for the next request, ms. */
const BULK_MS = 60_000;

/** What a bulk request came with, and what came of it so far. */
interface Run {
  request: BulkRedriveRequest;
  by: string;
  result: BulkRedriveResult;
}

/**
 * Redrives every open dead letter that fits a filter, each of the runs found at the beginning at most once: a reach that fails
 * again meanwhile is left for the next request.
 */
export class BulkRedriver {
  constructor(
    private readonly options: {
      lister: DeadLetterLister;
      redriver: Redriver;
      runs: Pick<RunReader, 'needsConsent'>;
      clock: Clock;
    },
  ) {}

  /** With `dry_run` each is looked at as a redrive would, and left alone. @throws ReachError `engine_unavailable` when they cannot be listed */
  async redrive(request: BulkRedriveRequest, by: string): Promise<BulkRedriveResult> {
    const { lister, clock } = this.options;
    const endsMs = clock.monotonicMs() + BULK_MS;
    const found = await lister.open(request.filter, request.limit);
    const result: BulkRedriveResult = { matched: found.length, redriven: [], skipped: [], failed: [] };
    const run = { request, by, result };
    await mapLimited(found, CONCURRENT_REDRIVES, (item) =>
      clock.monotonicMs() < endsMs ? this.one(item, run) : notTried(item, result),
    );
    return request.dry_run ? { ...result, would_redrive: remaining(found, result) } : result;
  }

  private async one(item: DeadLetterItem, { request, by, result }: Run): Promise<void> {
    const { reach_id } = item;
    try {
      if (request.dry_run) await this.look(item, request);
      else await this.send(item, { request, by, result });
    } catch (caught) {
      const { code, message, options } = ReachError.from(caught);
      if (code === 'reach_terminal') {
        const consent = options.extra?.reach_status === 'outcome_unknown';
        result.skipped.push({ reach_id, reason: consent ? CONSENT_REASON : message });
      } else result.failed.push({ reach_id, code, message });
    }
  }

  private async send({ reach_id, run_id }: DeadLetterItem, { request, by, result }: Run): Promise<void> {
    const order = { by, acceptRepeat: request.accept_repeat, runId: run_id };
    const { run_id: newRunId, replayed } = await this.options.redriver.redrive(reach_id, order);
    if (replayed) result.skipped.push({ reach_id, reason: `was redriven before, as run ${newRunId}` });
    else result.redriven.push({ reach_id, run_id: newRunId });
  }

  private async look({ reach_id, run_id }: DeadLetterItem, { accept_repeat }: BulkRedriveRequest): Promise<void> {
    if (!accept_repeat && (await this.options.runs.needsConsent(reach_id, run_id))) throw needsConsent(reach_id);
  }
}

/** Those against which nothing was found, in the order of the list. */
function remaining(found: readonly DeadLetterItem[], { skipped, failed }: BulkRedriveResult) {
  const objected = new Set([...skipped, ...failed].map(({ reach_id }) => reach_id));
  return found.filter(({ reach_id }) => !objected.has(reach_id)).map(({ reach_id, run_id }) => ({ reach_id, run_id }));
}

async function notTried({ reach_id }: DeadLetterItem, { failed }: BulkRedriveResult): Promise<void> {
  const message = `was not tried within ${BULK_MS / 1_000} s; send the request again`;
  failed.push({ reach_id, code: 'engine_unavailable', message });
}
