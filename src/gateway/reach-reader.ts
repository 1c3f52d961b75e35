import { WorkflowFailedError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import { TerminatedFailure } from '@temporalio/common';
import { ReachError } from '../protocol/reach-error';
import type { ReachLinks } from '../protocol/shapes';
import { REACH_WORKFLOW, type ReachMemo, type ReachOutput } from '../../workflows/messages';
import { endFromFailure, failedView, resultBody, runningView, type ReachEnd, type ReachView } from './reach-view';
import { ENGINE_TIMEOUT_MS, fromTemporal, isWaitOver, notFound } from './temporal-errors';

/** What the reader works with. */
export interface ReachReaderOptions {
  client: Client;
  namespace: string;
  /** Base URL of the Temporal Web UI, for links; null hides them. */
  temporalUiUrl: string | null;
}

/** Reads reaches: exact, from the run itself; never through queries, which would need a worker. */
export class ReachReader {
  constructor(private readonly options: ReachReaderOptions) {}

  /** True when a reach with this id is known. */
  async exists(id: string): Promise<boolean> {
    try {
      await this.describe(id);
      return true;
    } catch (caught) {
      if (ReachError.from(caught).code === 'not_found') return false;
      throw caught;
    }
  }

  /** @throws ReachError `not_found` */
  async memo(id: string): Promise<ReachMemo> {
    return memoOf(await this.describe(id));
  }

  /** Status, result or error now, or as soon as the reach ends within `waitMs`. */
  async view(id: string, waitMs: number): Promise<ReachView> {
    let description = await this.describe(id);
    if (description.status.name === 'RUNNING' && waitMs > 0) {
      await this.waitForEnd(id, waitMs);
      description = await this.describe(id);
    }
    const memo = memoOf(description);
    if (description.status.name === 'RUNNING') return runningView(description, memo, this.links(id));
    const end = await this.waitForEnd(id, ENGINE_TIMEOUT_MS);
    if (!end) throw fromTemporal(new Error('transport'), 'read the outcome');
    return end.status === 'completed'
      ? resultBody(id, memo, { output: end.output, replayed: false })
      : failedView(description, memo, { end, links: this.links(id) });
  }

  /**
   * Waits up to `waitMs` for the end; null when it has not come. Follows the id, not a run: a reset while
   * somebody waits is waited through. The deadline travels with each poll, so nothing is left behind.
   */
  async waitForEnd(id: string, waitMs: number): Promise<ReachEnd | null> {
    const { client } = this.options;
    const until = new Date();
    until.setMilliseconds(until.getMilliseconds() + waitMs);
    for (;;) {
      try {
        const output = await client.connection.withDeadline(until, () => client.workflow.getHandle(id).result());
        return { status: 'completed', output: output as ReachOutput };
      } catch (caught) {
        if (isWaitOver(caught)) return null;
        if (!(caught instanceof WorkflowFailedError)) throw fromTemporal(caught, 'wait for the result');
        if (!(caught.cause instanceof TerminatedFailure) || !(await this.isRunning(id))) return endFromFailure(caught.cause, id);
      }
    }
  }

  /** @throws ReachError `reach_terminal` when the reach is over */
  async cancel(id: string): Promise<void> {
    const description = await this.describe(id);
    if (description.status.name !== 'RUNNING') {
      throw alreadyOver(id, description.status.name.toLowerCase());
    }
    await this.options.client.workflow.getHandle(id).cancel().catch((caught: unknown) => {
      const error = fromTemporal(caught, 'cancel the reach');
      // It ended between the look and the request.
      throw error.code === 'not_found' ? alreadyOver(id, 'it ended just now') : error;
    });
  }

  links(id: string): ReachLinks {
    const { temporalUiUrl, namespace } = this.options;
    const temporal = temporalUiUrl && new URL(`/namespaces/${namespace}/workflows/${encodeURIComponent(id)}`, temporalUiUrl).href;
    return { self: `/v1/reaches/${id}`, events: `/v1/reaches/${id}/events`, temporal };
  }

  /** @throws ReachError `not_found` for ids that are not a reach's */
  async describe(id: string): Promise<WorkflowExecutionDescription> {
    const { client } = this.options;
    if (!isReachId(id)) throw notFound();
    const until = new Date();
    until.setMilliseconds(until.getMilliseconds() + ENGINE_TIMEOUT_MS);
    try {
      const description = await client.connection.withDeadline(until, () => client.workflow.getHandle(id).describe());
      if (description.type !== REACH_WORKFLOW) throw notFound();
      return description;
    } catch (caught) {
      throw fromTemporal(caught, 'read the reach');
    }
  }

  private async isRunning(id: string): Promise<boolean> {
    return (await this.describe(id)).status.name === 'RUNNING';
  }
}

/** Ids have one form; nothing else needs to be asked for. */
function isReachId(id: string): boolean {
  return /^r-[a-z2-7]{32}$/.test(id);
}

function alreadyOver(id: string, how: string): ReachError {
  return new ReachError('reach_terminal', `The reach is already over: ${how}`, { extra: { reach_id: id } });
}

function memoOf(description: WorkflowExecutionDescription): ReachMemo {
  return description.memo as ReachMemo;
}
