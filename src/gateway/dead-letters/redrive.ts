import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { v4 as uuidv4 } from 'uuid';
import type { RedriveReceipt } from '../../protocol/dead-letter';
import type { Payloads } from '../../payloads';
import type { Envelope } from '../../protocol/envelope';
import { ReachError } from '../../protocol/reach-error';
import type { Clock, Logger } from '../../registry';
import { PENDING_TTL_SEC, type RedriveClaim } from '../../registry/dead-letters/dead-letter-store';
import { bounded, fromTemporal } from '../temporal-errors';
import { BY_RESET, notDead, type CaseOptions, type DeadLetterCases } from './cases';
import { isDead } from './runs';

/** What a redrive is asked with. */
export interface RedriveOrder {
  by: string;
  acceptRepeat: boolean;
  /** The failed run; default the last one. */
  runId?: string;
}

export interface RedriverOptions extends CaseOptions {
  client: Client;
  namespace: string;
  cases: DeadLetterCases;
  clock: Clock;
  logger: Logger;
  /** Called for each run that was really begun. */
  onRedriven: () => void;
  payloads: Pick<Payloads, 'hold'>;
}

/** What came of redriving a failed run. */
interface Redriven {
  runId: string;
  at: string;
  replayed: boolean;
}

/** Somebody else's redrive of the same run is waited for this long, ms; it takes some ten of them when all is well. */
export const PATIENCE_MS = 10_000;
/** How often one that waits looks, ms. */
export const LOOK_EVERY_MS = 50;
/** A claim older than this is not acted on any more, ms: the reset must surely be over when its lease ends. */
const CLAIM_USABLE_MS = (PENDING_TTL_SEC * 1_000) / 3;

const { ResetReapplyExcludeType: Exclude } = temporal.api.enums.v1;
/** What came in during the failed run was meant for it: late results, the `accepted` update, cancellations. */
const NOT_REAPPLIED = [
  Exclude.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL,
  Exclude.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE,
  Exclude.RESET_REAPPLY_EXCLUDE_TYPE_CANCEL_REQUEST,
];

/**
 * Redrives dead letters (R31): a reset of the failed run to its first workflow task, under the same id and with a fresh
 * budget. The server does not tell one reset from a second of the same run, so a marker in etcd does: whoever creates it
 * resets, all others answer what came of it.
 */
export class Redriver {
  private readonly underWay = new Map<string, Promise<Redriven>>();

  constructor(private readonly options: RedriverOptions) {}

  /**
   * @throws ReachError `not_found`; `reach_terminal` when it was discarded, or when it may have been done and
   *   `acceptRepeat` is not set; `engine_unavailable` when it is not clear what came of it: asking again is safe
   */
  async redrive(id: string, order: RedriveOrder): Promise<RedriveReceipt> {
    const { reader, cases, runs } = this.options;
    const current = await reader.describe(id);
    const records = await cases.recordsOf(id);
    const failed = order.runId === undefined ? null : await this.failedRun(id, order.runId, current);
    const run = failed ?? (await cases.of(current, records))?.failed;
    if (!run) throw notDead(id, current);
    const receipt = (came: Redriven): RedriveReceipt => ({
      reach_id: id,
      run_id: came.runId,
      redriven_run_id: run.runId,
      at: came.at,
      replayed: came.replayed,
      links: reader.links(id),
    });
    const marker = records.redrives.get(run.runId);
    if (marker?.state === 'done') return receipt({ runId: marker.run_id, at: marker.at, replayed: true });
    if (run.runId !== current.runId) return receipt(await this.noteReset(run, current));
    if (records.discards.has(run.runId)) throw discarded(id);
    const needed = !order.acceptRepeat && (await runs.mayHaveRun(run, (await runs.opening(id, run.runId)).input));
    if (needed) throw needsConsent(id);
    return receipt(await this.once(id, run.runId, order.by));
  }

  private async failedRun(
    id: string,
    runId: string,
    current: WorkflowExecutionDescription,
  ): Promise<WorkflowExecutionDescription> {
    const run = runId === current.runId ? current : await this.options.cases.describe(id, runId);
    if (run && isDead(run)) return run;
    throw new ReachError(
      'not_found',
      `Run ${runId} of ${id} ${run ? `did not fail: it is ${run.status.name.toLowerCase()}` : 'is not there (any more)'}; leave run_id out to redrive the last failed run`,
      { extra: { reach_id: id } },
    );
  }

  /** Requests for the same run that meet in this process share one redrive; all but the first are told that it was not theirs. */
  private async once(id: string, runId: string, by: string): Promise<Redriven> {
    const known = this.underWay.get(runId);
    if (known) return { ...(await known), replayed: true };
    const started = this.execute(id, runId, by).finally(() => this.underWay.delete(runId));
    this.underWay.set(runId, started);
    return started;
  }

  private async execute(id: string, runId: string, by: string): Promise<Redriven> {
    const { store, cases, clock } = this.options;
    const endsMs = clock.monotonicMs() + PATIENCE_MS;
    for (;;) {
      const outcome = await store.claim({ reachId: id, runId }, by);
      if (outcome.claim) return this.reset(outcome.claim);
      if (outcome.discard) throw discarded(id);
      let marker = outcome.redrive;
      while (marker?.state === 'pending') {
        if (clock.monotonicMs() >= endsMs) throw stillPending(id);
        await sleep(LOOK_EVERY_MS);
        marker = (await cases.recordsOf(id)).redrives.get(runId) ?? null;
      }
      if (marker) return { runId: marker.run_id, at: marker.at, replayed: true };
      // The claim was given back, or its holder died: next one.
    }
  }

  /** A large payload is kept for the new run; without it there is nothing to send. @throws ReachError `not_found` */
  private async holdPayload({ payload_ref: ref, timeout_ms: keepMs }: Envelope): Promise<void> {
    if (ref === undefined) return;
    await this.options.payloads.hold(ref, keepMs).catch((caught: unknown) => {
      if (ReachError.from(caught).code !== 'invalid_request') throw caught;
      throw new ReachError(
        'not_found',
        `The payload ${ref} is not stored any more; send the reach again under a new key`,
      );
    });
  }

  private async reset(claim: RedriveClaim): Promise<Redriven> {
    const { store, runs, onRedriven } = this.options;
    const { reachId: id, runId } = claim;
    let resetEventId: number;
    try {
      const current = await this.options.reader.describe(id);
      if (current.runId !== runId) return await this.noteReset(await runs.describe(id, runId), current);
      const opening = await runs.opening(id, runId);
      ({ resetEventId } = opening);
      await this.holdPayload(opening.input.envelope);
      if (this.options.clock.monotonicMs() - claim.wonMs > CLAIM_USABLE_MS) throw stillPending(id);
    } catch (error) {
      await store.release(claim).catch(() => undefined);
      throw error;
    }
    const newRunId = await this.send(claim, resetEventId);
    onRedriven();
    await this.note(claim, { newRunId, by: claim.by, at: claim.at });
    return { runId: newRunId, at: claim.at, replayed: false };
  }

  private async send(claim: RedriveClaim, workflowTaskFinishEventId: number): Promise<string> {
    const { client, namespace, reader, store } = this.options;
    const request = {
      namespace,
      workflowExecution: { workflowId: claim.reachId, runId: claim.runId },
      reason: `redriven by ${claim.by}`,
      workflowTaskFinishEventId,
      requestId: uuidv4(),
      resetReapplyExcludeTypes: NOT_REAPPLIED,
    };
    try {
      return (await bounded(client, () => client.workflowService.resetWorkflowExecution(toLong(request)))).runId;
    } catch (caught) {
      const error = fromTemporal(caught, 'redrive the reach');
      if (error.code !== 'engine_unavailable') {
        await store.release(claim).catch(() => undefined);
        throw error;
      }
      // It may have arrived, or still arrive: the claim stays until its lease ends, and then the runs tell.
      const current = await reader.describe(claim.reachId).catch(() => null);
      if (current && current.runId !== claim.runId) return current.runId;
      throw stillPending(claim.reachId, caught);
    }
  }

  /** A newer run without a marker: somebody reset it by hand, or a gateway died before it could note what it did. */
  private async noteReset(
    failed: WorkflowExecutionDescription,
    current: WorkflowExecutionDescription,
  ): Promise<Redriven> {
    const newRunId = failed.raw.workflowExtendedInfo?.resetRunId || current.runId;
    const at = current.startTime.toISOString();
    const { workflowId: reachId, runId } = failed;
    await this.note({ reachId, runId }, { newRunId, by: BY_RESET, at });
    return { runId: newRunId, at, replayed: true };
  }

  /** The redrive has happened; a marker that cannot be written is written by the next one who asks. */
  private async note(
    run: { reachId: string; runId: string },
    done: { newRunId: string; by: string; at: string },
  ): Promise<void> {
    await this.options.store.complete(run, done).catch((err: unknown) => {
      this.options.logger.warn({ reach_id: run.reachId, err }, 'a redrive could not be noted; its run is under way');
    });
  }
}

/** The client's types ask for Long where the wire takes any integer; event ids of ours are small. */
function toLong<R extends { workflowTaskFinishEventId: number }>(request: R) {
  return request as unknown as Omit<R, 'workflowTaskFinishEventId'> & {
    workflowTaskFinishEventId: temporal.api.workflowservice.v1.IResetWorkflowExecutionRequest['workflowTaskFinishEventId'];
  };
}

function discarded(id: string): ReachError {
  return new ReachError(
    'reach_terminal',
    `The dead letter ${id} was discarded and is not redriven; send the request again under a new idempotency key`,
    { extra: { reach_id: id } },
  );
}

/** Why a redrive needs `accept_repeat`; bulk requests skip such a reach. */
export const CONSENT_REASON =
  'the agent may have done the work already, and it was promised not to be sent twice; accept_repeat is not set';

/** The refusal of a redrive that needs `accept_repeat` and has it not. */
export function needsConsent(id: string): ReachError {
  return new ReachError(
    'reach_terminal',
    `${id} is not sent again just so: ${CONSENT_REASON}. Ask the owner of the agent; to send it again all the same, post {"accept_repeat":true}`,
    { extra: { reach_id: id, reach_status: 'outcome_unknown' } },
  );
}

function stillPending(id: string, cause?: unknown): ReachError {
  return new ReachError(
    'engine_unavailable',
    `A redrive of ${id} was begun and is not confirmed yet; ask again: it is safe, and within ${PENDING_TTL_SEC} s it is clear`,
    { retryAfterMs: 2_000, extra: { reach_id: id }, cause },
  );
}
