import type { DeadLetter } from '../../protocol/dead-letter';
import type { Payloads } from '../../payloads';
import type { Envelope } from '../../protocol/envelope';
import { parsePayloadRef } from '../../protocol/payload-ref';
import type { JsonObject } from '../../protocol/shapes';
import { statusOf } from '../reach-view';
import { decodeSearchAttributes } from '../search-attributes';
import type { CaseOptions, DeadCase, DeadLetterCases } from './cases';

/** Larger payloads are told by their reference, which says how large they are, bytes. */
const MAX_SHOWN_BYTES = 1_048_576;

/** Tells the whole story of one dead letter. */
export class DeadLetterViewer {
  constructor(private readonly options: CaseOptions & { cases: DeadLetterCases; payloads: Pick<Payloads, 'load'> }) {}

  /** @throws ReachError `not_found` */
  async show(id: string): Promise<DeadLetter> {
    const { cases, runs, reader } = this.options;
    const found = await cases.find(id);
    const [item, { input }, attemptsBefore] = await Promise.all([
      cases.item(found),
      runs.opening(id, found.failed.runId),
      this.attemptsBefore(found),
    ]);
    const { current } = found;
    const { ReachStatus } = decodeSearchAttributes(current.raw.workflowExecutionInfo?.searchAttributes);
    return {
      ...item,
      envelope: await this.shown(input.envelope),
      decision: input.routed.decision as unknown as JsonObject,
      attempts_before: attemptsBefore,
      needs_accept_repeat: await runs.mayHaveRun(found.failed, input),
      current_run: { run_id: current.runId, status: statusOf(current.status.name, ReachStatus) },
      links: reader.links(id),
    };
  }

  /** As it was accepted; a payload that is large even for a look at one dead letter stays a reference. */
  private async shown({ payload, payload_ref, ...rest }: Envelope): Promise<JsonObject> {
    if (payload_ref === undefined) return { ...rest, payload } as unknown as JsonObject;
    const bytes = parsePayloadRef(payload_ref)?.bytes ?? Infinity;
    const content = bytes > MAX_SHOWN_BYTES ? null : await this.options.payloads.load(payload_ref).catch(() => null);
    return { ...rest, ...(content && { payload: content }), payload_ref } as unknown as JsonObject;
  }

  /** Attempts of the runs that failed before this one, as far as they are still there. */
  private async attemptsBefore({ id, failed, redrives }: DeadCase): Promise<number> {
    const earlier = redrives.map(({ redriven_run_id }) => redriven_run_id).filter((runId) => runId !== failed.runId);
    const counts = await Promise.all(
      earlier.map((runId) =>
        this.options.runs.ending(id, runId).then(
          ({ attempts }) => attempts.length,
          () => 0,
        ),
      ),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }
}
