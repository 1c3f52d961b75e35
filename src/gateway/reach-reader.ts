import { performance } from 'node:perf_hooks';
import { WorkflowFailedError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import { TerminatedFailure } from '@temporalio/common';
import { ReachError } from '../protocol/reach-error';
import type { ReachLinks } from '../protocol/shapes';
import { REACH_WORKFLOW, type ReachMemo, type ReachOutput } from '../../workflows/messages';
import { unlessLeft } from './caller-left';
import type { Deliveries } from './callbacks/deliveries';
import { endFromFailure, failedView, resultBody, runningView, type ReachEnd, type ReachView } from './reach-view';
import { bounded, ENGINE_TIMEOUT_MS, fromTemporal, isWaitOver, notFound } from './temporal-errors';

/** One poll for an end; the connection cannot take one back when its caller leaves, ms. */
const POLL_MS = 15_000;
/** A look for an earlier reach comes on top of something that failed already, ms. */
const EXISTS_TIMEOUT_MS = 2_000;

/** What the reader works with. */
export interface ReachReaderOptions {
  client: Client;
  namespace: string;
  /** Base URL of the Temporal Web UI, for links; null hides them. */
  temporalUiUrl: string | null;
  /** Tells how the callback of an ended reach stands; absent where nobody asks. */
  deliveries?: Pick<Deliveries, 'summary'>;
}

/** Reads reaches: exact, from the run itself; never through queries, which would need a worker. */
export class ReachReader {
  constructor(private readonly options: ReachReaderOptions) {}

  /** True when a reach with this id is known; false also when nobody can tell within two seconds. */
  async exists(id: string): Promise<boolean> {
    return this.describe(id, EXISTS_TIMEOUT_MS).then(
      () => true,
      () => false,
    );
  }

  /** @throws ReachError `not_found` */
  async memo(id: string): Promise<ReachMemo> {
    return memoOf(await this.describe(id));
  }

  /** Status, result or error now, or as soon as the reach ends within `waitMs`, unless the caller has left. */
  async view(id: string, waitMs: number, left?: AbortSignal): Promise<ReachView> {
    let description = await this.describe(id);
    if (description.status.name === 'RUNNING' && waitMs > 0) {
      await this.waitForEnd(id, waitMs, left);
      description = await this.describe(id);
    }
    const memo = memoOf(description);
    if (description.status.name === 'RUNNING') return runningView(description, memo, this.links(id));
    const end = await this.waitForEnd(id, ENGINE_TIMEOUT_MS);
    if (!end) throw fromTemporal(new Error('transport'), 'read the outcome');
    const view =
      end.status === 'completed'
        ? resultBody(id, memo, { output: end.output, replayed: false })
        : failedView(description, memo, { end, links: this.links(id) });
    return memo.notify ? { ...view, ...(await this.told(id, description.runId, memo.notify)) } : view;
  }

  /** How the callbacks of a run's end stand. */
  private async told(
    reachId: string,
    runId: string,
    kinds: NonNullable<ReachMemo['notify']>,
  ): Promise<Pick<ReachView, 'callback' | 'reply'>> {
    const { deliveries } = this.options;
    if (!deliveries) return {};
    const summaries = kinds.map(async (kind) => [kind, await deliveries.summary({ reachId, runId, kind })] as const);
    return Object.fromEntries(await Promise.all(summaries));
  }

  /**
   * Waits up to `waitMs` for the end; null when it has not come, or nobody waits for it any more. Follows the id, not a run: a
   * reset while somebody waits is waited through. The deadline travels with each poll, so none outlives a caller by much.
   */
  async waitForEnd(id: string, waitMs: number, left?: AbortSignal): Promise<ReachEnd | null> {
    const { client } = this.options;
    const endsAtMs = performance.now() + waitMs;
    for (;;) {
      try {
        const pollMs = Math.max(1, Math.min(endsAtMs - performance.now(), POLL_MS));
        const output = await unlessLeft(
          bounded(client, () => client.workflow.getHandle(id).result(), pollMs),
          left,
        );
        return left?.aborted ? null : { status: 'completed', output: output as ReachOutput };
      } catch (caught) {
        if (isWaitOver(caught)) {
          if (left?.aborted || performance.now() >= endsAtMs) return null;
          continue;
        }
        if (!(caught instanceof WorkflowFailedError)) throw fromTemporal(caught, 'wait for the result');
        if (!(caught.cause instanceof TerminatedFailure) || !(await this.isRunning(id)))
          return endFromFailure(caught.cause, id);
      }
    }
  }

  /** @throws ReachError `reach_terminal` when the reach is over */
  async cancel(id: string): Promise<void> {
    const description = await this.describe(id);
    if (description.status.name !== 'RUNNING') {
      throw alreadyOver(id, description.status.name.toLowerCase());
    }
    const { client } = this.options;
    await bounded(client, () => client.workflow.getHandle(id).cancel()).catch((caught: unknown) => {
      const error = fromTemporal(caught, 'cancel the reach');
      // It ended between the look and the request.
      throw error.code === 'not_found' ? alreadyOver(id, 'it ended just now') : error;
    });
  }

  links(id: string): ReachLinks {
    const { temporalUiUrl, namespace } = this.options;
    const temporal =
      temporalUiUrl && new URL(`/namespaces/${namespace}/workflows/${encodeURIComponent(id)}`, temporalUiUrl).href;
    return { self: `/v1/reaches/${id}`, events: `/v1/reaches/${id}/events`, temporal };
  }

  /** @throws ReachError `not_found` for ids that are not a reach's */
  async describe(id: string, limitMs = ENGINE_TIMEOUT_MS): Promise<WorkflowExecutionDescription> {
    const { client } = this.options;
    if (!isReachId(id)) throw notFound();
    try {
      const description = await bounded(client, () => client.workflow.getHandle(id).describe(), limitMs);
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
