import { WorkflowExecutionAlreadyStartedError, type Client, type WorkflowStartOptions } from '@temporalio/client';
import { callbackId } from '../../protocol/callback-id';
import type { DeliveryTarget } from '../../protocol/callback-target';
import {
  CALLBACK_WORKFLOW,
  type DeliverCallbackInput,
  type DeliveryMemo,
  type NotifyInput,
  type ToldMessage,
} from '../../../workflows/messages';
import { bounded, fromTemporal } from '../temporal-errors';

/** `callbacks` of the Config, and where deliveries run. */
export interface StarterOptions {
  client: Client;
  /** Of the workflows. */
  taskQueue: string;
  /** Of the attempts. */
  attemptQueue: string;
  settings: { retry_schedule: number[]; timeout: number; max_age: number };
}

/** Starts deliveries: durable from then on, and once, however often it is asked for. */
export class DeliveryStarter {
  constructor(private readonly options: StarterOptions) {}

  /** All that the end of a run asks for. @throws ReachError `engine_unavailable`: asking again is safe */
  async start({ reach_id, run_id, callback, reply_to }: NotifyInput): Promise<void> {
    const run = { reachId: reach_id, runId: run_id };
    if (callback) await this.startOne({ ...run, kind: 'callback', to: callback });
    if (reply_to) await this.startOne({ ...run, kind: 'reply', to: reply_to });
  }

  /**
   * One delivery; false when it is under way or over.
   * @param again also when it has failed before: a fresh schedule under the same id
   */
  async startOne(
    { reachId, runId, kind, to }: { reachId: string; runId: string; kind: 'callback' | 'reply'; to: DeliveryTarget },
    again = false,
  ): Promise<boolean> {
    const id = callbackId({ reachId, runId, kind });
    return this.begin({ id, reach_id: reachId, run_id: runId, to }, `end of ${reachId}`, again);
  }

  /**
   * Something else than the end of a reach; false when it was started before.
   * @param message `about` says in a word what it is, and stands where a reach's id would
   */
  startTold({ id, about, url, told }: { id: string; about: string; url: string; told: ToldMessage }): Promise<boolean> {
    return this.begin({ id, reach_id: about, run_id: '', to: { url }, told }, `${about}: ${told.type}`);
  }

  private async begin(
    what: Pick<DeliverCallbackInput, 'id' | 'reach_id' | 'run_id' | 'to' | 'told'>,
    summary: string,
    again = false,
  ): Promise<boolean> {
    const { client, taskQueue, attemptQueue, settings } = this.options;
    const { id: workflowId, reach_id, run_id, to } = what;
    const input: DeliverCallbackInput = {
      ...what,
      delays_ms: settings.retry_schedule,
      timeout_ms: settings.timeout,
      max_age_ms: settings.max_age,
      task_queue: attemptQueue,
    };
    const memo: DeliveryMemo = { reach_id, run_id, to };
    const options = {
      workflowId,
      taskQueue,
      args: [input],
      workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE_FAILED_ONLY' : 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      memo,
      staticSummary: `${summary} → ${describeTarget(to)}`.slice(0, 200),
    } satisfies WorkflowStartOptions;
    try {
      await bounded(client, () => client.workflow.start(CALLBACK_WORKFLOW, options));
      return true;
    } catch (caught) {
      if (caught instanceof WorkflowExecutionAlreadyStartedError) return false;
      throw fromTemporal(caught, 'start the callback');
    }
  }
}

/** Whom a delivery goes to, in a word; of a URL only the origin, for its path may be a secret. */
export function describeTarget(to: DeliveryTarget): string {
  if ('url' in to) return URL.canParse(to.url) ? new URL(to.url).origin : 'callback';
  return 'topic' in to ? `topic ${to.topic}` : `signal ${to.signal} of ${to.workflow_id}`;
}
