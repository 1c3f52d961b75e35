import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { deliveryQuerySchema, type Delivery, type DeliveryQuery } from '../../protocol/callback';
import { callbackId, parseCallbackId, type DeliveryKey } from '../../protocol/callback-id';
import type { DeliveryError, DeliveryState, DeliverySummary } from '../../protocol/callback-target';
import { ReachError } from '../../protocol/reach-error';
import { validate } from '../../protocol/validation';
import { CALLBACK_WORKFLOW, type DeliveryFailure, type DeliveryMemo } from '../../../workflows/messages';
import { mapLimited } from '../dead-letters/map-limited';
import { bounded, fromTemporal } from '../temporal-errors';
import { openCursor, readPage, sealCursor, type VisibilityScope } from '../visibility';

/** Deliveries of one page that are looked at, at once. */
const CONCURRENT_READS = 16;
const WHAT = 'list the callbacks';

const STATE_QUERY: Record<DeliveryState, string> = {
  pending: "ExecutionStatus = 'Running'",
  delivered: "ExecutionStatus = 'Completed'",
  failed: "ExecutionStatus IN ('Failed', 'TimedOut', 'Terminated', 'Canceled')",
};

/** A page of deliveries. */
export interface DeliveryPage {
  items: Delivery[];
  next_cursor?: string;
  consistency: 'eventual';
}

/** Reads how deliveries stand: each from its own run, exactly; which ones there are from visibility, within about a second. */
export class Deliveries {
  constructor(private readonly options: VisibilityScope) {}

  /** @throws ReachError `invalid_request` naming the query parameter */
  async list(query: unknown): Promise<DeliveryPage> {
    const filter = validate(deliveryQuerySchema, query, { what: 'the query' });
    const page = {
      query: terms(filter),
      pageSize: filter.limit,
      ...(filter.cursor && { token: openCursor(filter.cursor) }),
    };
    const { executions, token } = await readPage(this.options, page, WHAT);
    const items = await mapLimited(executions, CONCURRENT_READS, async ({ execution }) => {
      const current = await this.find(execution?.workflowId ?? '');
      // A redriven delivery has an older run, which is not how it stands.
      return current && current.runId === execution?.runId ? deliveryOf(current) : null;
    });
    return {
      items: items.filter((item) => item !== null).filter(({ status }) => !filter.state || status === filter.state),
      ...(token.length > 0 && { next_cursor: sealCursor(token) }),
      consistency: 'eventual',
    };
  }

  /** @throws ReachError `not_found` */
  async show(id: string): Promise<Delivery> {
    const found = parseCallbackId(id) && (await this.find(id));
    if (!found) throw noDelivery();
    return deliveryOf(found);
  }

  /** How the delivery of a run's end stands; never fails for one that is not there. */
  async summary(key: DeliveryKey): Promise<DeliverySummary> {
    const id = callbackId(key);
    const found = await this.find(id);
    if (!found) return { id, status: 'not_started', attempts: 0 };
    const { status, attempts, last_error } = deliveryOf(found);
    return { id, status, attempts, ...(last_error && { last_error }) };
  }

  private async find(id: string): Promise<WorkflowExecutionDescription | null> {
    const client: Client = this.options.client;
    try {
      const description = await bounded(client, () => client.workflow.getHandle(id).describe());
      return description.type === CALLBACK_WORKFLOW ? description : null;
    } catch (caught) {
      const error = fromTemporal(caught, 'read the callback');
      if (error.code === 'not_found') return null;
      throw error;
    }
  }
}

/** The one answer for ids of deliveries that do not exist. */
export function noDelivery(): ReachError {
  return new ReachError('not_found', 'There is no callback with this id; it may have passed its retention');
}

function terms({ state, reach_id }: DeliveryQuery): string {
  const found = [`WorkflowType = '${CALLBACK_WORKFLOW}'`];
  if (state) found.push(STATE_QUERY[state]);
  // A reach id is `r-` and base 32; what is none matches nothing, and nothing of it is put into the query.
  if (reach_id !== undefined)
    found.push(`WorkflowId STARTS_WITH 'cb-${/^r-([a-z2-7]{32})$/.exec(reach_id)?.[1] ?? '-'}-'`);
  return found.join(' AND ');
}

function deliveryOf(description: WorkflowExecutionDescription): Delivery {
  const { reach_id, run_id, to, outcome } = description.memo as DeliveryMemo;
  const pending = description.raw.pendingActivities?.[0];
  const status = stateOf(description.status.name);
  const progress = status === 'pending' ? progressOf(pending) : endedWith(outcome, status);
  return {
    id: description.workflowId,
    reach_id,
    run_id,
    to,
    status,
    ...progress,
    started_at: description.startTime.toISOString(),
    ...(description.closeTime && { ended_at: description.closeTime.toISOString() }),
  };
}

function stateOf(status: string): DeliveryState {
  if (status === 'RUNNING' || status === 'PAUSED') return 'pending';
  return status === 'COMPLETED' ? 'delivered' : 'failed';
}

type Progress = Pick<Delivery, 'attempts' | 'last_error' | 'next_attempt_at'>;
type Pending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** The server counts the attempt that comes next, too. */
function progressOf(pending: Pending | undefined): Progress {
  if (!pending) return { attempts: 0 };
  const waits = !pending.lastStartedTime || Number(pending.state ?? 0) !== STARTED;
  const failure = pending.lastFailure?.applicationFailureInfo?.details?.payloads?.[0];
  const next = waits ? pending.nextAttemptScheduleTime : undefined;
  return {
    attempts: Math.max(0, Number(pending.attempt ?? 1) - (waits ? 1 : 0)),
    ...(failure && { last_error: errorOf(defaultPayloadConverter.fromPayload<DeliveryFailure>(failure)) }),
    ...(next && { next_attempt_at: new Date(Number(next.seconds ?? 0) * 1_000).toISOString() }),
  };
}

/** `PENDING_ACTIVITY_STATE_STARTED` of the Temporal API. */
const STARTED = 2;

function endedWith(outcome: DeliveryMemo['outcome'], status: DeliveryState): Progress {
  if (!outcome) {
    const last_error = { message: 'The delivery was ended from outside' };
    return { attempts: 0, ...(status === 'failed' && { last_error }) };
  }
  return { attempts: outcome.attempts, ...('message' in outcome && { last_error: errorOf(outcome) }) };
}

function errorOf({ message, http_status }: DeliveryFailure): DeliveryError {
  return { message, ...(http_status !== undefined && { http_status }) };
}
