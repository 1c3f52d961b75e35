/** Single runs of a reach, read exactly: from the run itself, not from visibility. */
import { WorkflowFailedError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import { TerminatedFailure } from '@temporalio/common';
import type { ErrorCode } from '../../protocol/error-codes';
import { ReachError } from '../../protocol/reach-error';
import type { DeadLetterStatus } from '../../protocol/dead-letter';
import { decodeFirst, type HistoryEvent } from '../../telemetry/history';
import { mayRepeat } from '../../policy/retry';
import type { ReachInput } from '../../../workflows/messages';
import { endFromFailure, statusOf, type ReachEnd } from '../reach-view';
import { decodeSearchAttributes } from '../search-attributes';
import { bounded, fromTemporal, notFound } from '../temporal-errors';

/** How a failed run ended. */
export type Ending = Exclude<ReachEnd, { status: 'completed' }>;

/** How a run began. */
export interface Opening {
  input: ReachInput;
  /** The event that a reset to the first workflow task names. */
  resetEventId: number;
}

/** Ends never change; so many are kept, the latest read. */
const MAX_KEPT = 2_000;
/** The first workflow task is completed within the first events. */
const FIRST_EVENTS = 100;

/** True for a run that makes its reach a dead letter while no newer one exists. */
export function isDead({ status }: WorkflowExecutionDescription): boolean {
  return status.name === 'FAILED' || status.name === 'TIMED_OUT' || status.name === 'TERMINATED';
}

/** Status of a failed run, as GET of its reach would say. */
export function deadStatus(run: WorkflowExecutionDescription): DeadLetterStatus {
  const { ReachStatus } = decodeSearchAttributes(run.raw.workflowExecutionInfo?.searchAttributes);
  return statusOf(run.status.name, ReachStatus) as DeadLetterStatus;
}

/** What an agent answers that has not done the work. With any other code it may have done it, and only its answer was lost. */
const UNDONE: ReadonlySet<ErrorCode> = new Set(['agent_rejected', 'agent_error', 'agent_busy']);

/**
 * True when the agent may have done the work of a run that failed by itself: it got the request, and neither refused it nor
 * failed. Its answer may have been too large, not as its schema says, or there was no room to keep it (`storage_full`). An
 * attempt that was accepted has no code of its own: what came of it is how the run ended. A run without a coded end
 * (`internal`) has no attempts on record, so it cannot tell.
 */
export function mayBeDone({ problem, attempts }: Pick<Ending, 'problem' | 'attempts'>): boolean {
  const inDoubt = attempts.some(({ received, code }) => received !== 'no' && !UNDONE.has(code ?? problem.code));
  return inDoubt || problem.code === 'internal';
}

/** Reads single runs. */
export class RunReader {
  private readonly endings = new Map<string, Ending>();

  constructor(private readonly options: { client: Client; namespace: string }) {}

  /** @throws ReachError `not_found` */
  async describe(id: string, runId: string): Promise<WorkflowExecutionDescription> {
    const { client } = this.options;
    try {
      return await bounded(client, () => client.workflow.getHandle(id, runId).describe());
    } catch (caught) {
      throw fromTemporal(caught, 'read the run');
    }
  }

  /** How a failed run ended, from its last event. @throws ReachError `not_found` */
  async ending(id: string, runId: string): Promise<Ending> {
    const kept = this.endings.get(runId);
    if (kept) return kept;
    const ending = await this.readEnding(id, runId);
    this.endings.set(runId, ending);
    const [oldest] = this.endings.keys();
    if (this.endings.size > MAX_KEPT && oldest !== undefined) this.endings.delete(oldest);
    return ending;
  }

  /**
   * True when a redrive might do twice what was promised to be done once (R4): the request may not be repeated, and the agent
   * may have done the work. A run that ran out of time, or was ended from outside, cannot tell; of one that failed by
   * itself its attempts do ({@link mayBeDone}). @throws ReachError `not_found`
   */
  async mayHaveRun(run: WorkflowExecutionDescription, { envelope, routed }: ReachInput): Promise<boolean> {
    const status = run.status.name === 'FAILED' ? deadStatus(run) : null;
    // Whichever agent it was that had it: the decision that it began with may name another.
    if (status === 'outcome_unknown') return true;
    const terms = { semantics: envelope.delivery_semantics, idempotent: routed.target.idempotent };
    if (mayRepeat('unknown', terms)) return false;
    if (status !== 'dead_lettered') return true;
    return mayBeDone(await this.ending(run.workflowId, run.runId));
  }

  /** {@link mayHaveRun} of a failed run that is known by name only. @throws ReachError `not_found` */
  async needsConsent(id: string, runId: string): Promise<boolean> {
    const [run, { input }] = await Promise.all([this.describe(id, runId), this.opening(id, runId)]);
    return this.mayHaveRun(run, input);
  }

  /** How a run began, from its first events. @throws ReachError `not_found` */
  async opening(id: string, runId: string): Promise<Opening> {
    const { client, namespace } = this.options;
    const request = { namespace, execution: { workflowId: id, runId }, maximumPageSize: FIRST_EVENTS };
    try {
      const page = await bounded(client, () => client.workflowService.getWorkflowExecutionHistory(request));
      const events = page.history?.events ?? [];
      const input = decodeFirst<ReachInput>(events[0]?.workflowExecutionStartedEventAttributes?.input);
      if (!input) throw new ReachError('internal', `The input of run ${runId} cannot be read`);
      return { input, resetEventId: resetEventId(events) };
    } catch (caught) {
      throw fromTemporal(caught, 'read how the reach began');
    }
  }

  private async readEnding(id: string, runId: string): Promise<Ending> {
    const { client } = this.options;
    try {
      await bounded(client, () => client.workflow.getHandle(id, runId, { followRuns: false }).result());
    } catch (caught) {
      if (caught instanceof WorkflowFailedError) return withReason(endFromFailure(caught.cause, id), caught.cause);
      throw fromTemporal(caught, 'read how the reach ended');
    }
    throw notFound();
  }
}

/** Who terminates a run says why; that is the story. */
function withReason(ending: Ending, cause: unknown): Ending {
  if (!(cause instanceof TerminatedFailure) || !cause.message) return ending;
  const { problem } = ending;
  return { ...ending, problem: { ...problem, detail: `${problem.detail}: ${cause.message}` } };
}

/**
 * The end of the first workflow task; where no worker ever finished one, the event after it was scheduled, as
 * `temporal workflow reset --type FirstWorkflowTask` has it.
 */
function resetEventId(events: readonly HistoryEvent[]): number {
  const completed = events.find((event) => event.workflowTaskCompletedEventAttributes);
  if (completed) return Number(completed.eventId);
  const scheduled = events.find((event) => event.workflowTaskScheduledEventAttributes);
  return Number(scheduled?.eventId ?? 2) + 1;
}
