/** What the doctor asks of Temporal. Every request is bounded. */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { bounded } from '../temporal-errors';
import type { ClockSeen, WorkersSeen } from './engines';

/** Number of `Keyword` in Temporal's API (`temporal.api.enums.v1.IndexedValueType`). */
const KEYWORD = 2;
/** The timer that is measured, ms. */
export const PROBE_TIMER_MS = 200;
/** A timer that takes longer is given up, ms. */
const PROBE_LIMIT_MS = 6_000;

/** Where reaches run. */
export interface TemporalPlace {
  client: Client;
  connection: Pick<NativeConnection, 'operatorService'>;
  namespace: string;
  taskQueue: string;
}

/** Version of the server. */
export async function serverVersion({ client }: TemporalPlace): Promise<string> {
  const info = await bounded(client, () => client.workflowService.getSystemInfo({}));
  return info.serverVersion ?? '';
}

/** How long the namespace keeps finished runs, ms. */
export async function retentionMs({ client, namespace }: TemporalPlace): Promise<number> {
  const { config } = await bounded(client, () => client.workflowService.describeNamespace({ namespace }));
  return durationMs(config?.workflowExecutionRetentionTtl);
}

/** Of these search attributes, those that the namespace lacks. */
export async function missingAttributes(
  { client, connection, namespace }: TemporalPlace,
  wanted: readonly string[],
): Promise<string[]> {
  const { customAttributes } = await bounded(client, () =>
    connection.operatorService.listSearchAttributes({ namespace }),
  );
  return wanted.filter((name) => customAttributes?.[name] !== KEYWORD);
}

/** Pollers of the task queue, and its backlog. */
export async function workersSeen(place: TemporalPlace): Promise<Omit<WorkersSeen, 'maxBacklogAgeMs'>> {
  const { client, namespace, taskQueue } = place;
  const request = { namespace, taskQueue: { name: taskQueue }, reportStats: true };
  const [workflow, activity] = await Promise.all(
    ([1, 2] as const).map((taskQueueType) =>
      bounded(client, () => client.workflowService.describeTaskQueue({ ...request, taskQueueType })),
    ),
  );
  const stats = [workflow?.stats, activity?.stats];
  return {
    taskQueue,
    workflowPollers: workflow?.pollers?.length ?? 0,
    activityPollers: activity?.pollers?.length ?? 0,
    backlog: stats.reduce((sum, one) => sum + Number(one?.approximateBacklogCount ?? 0), 0),
    backlogAgeMs: Math.max(...stats.map((one) => durationMs(one?.approximateBacklogAge))),
  };
}

/** What a run that nobody works on tells: how late its timer fired, and how the server's clock stands. */
export interface TimerSeen {
  lateMs: number;
  clock: ClockSeen;
}

/**
 * Starts a run whose first task is due after a delay, on a queue of its own, waits for the task, and removes the run. It
 * needs no worker and no code: the delay is a timer of the server like any other.
 */
export async function probeTimer({ client, namespace }: TemporalPlace): Promise<TimerSeen> {
  const { workflowService } = client;
  const workflowId = `agent-reach-doctor-${randomUUID()}`;
  const taskQueue = { name: workflowId };
  const started = { wallMs: new Date().getTime(), ms: performance.now() };
  const { runId } = await bounded(client, () =>
    workflowService.startWorkflowExecution({
      namespace,
      workflowId,
      workflowType: { name: 'doctorProbe' },
      taskQueue,
      workflowStartDelay: { nanos: PROBE_TIMER_MS * 1e6 },
      workflowRunTimeout: { seconds: 60 as never },
      identity: 'agent-reach doctor',
      requestId: workflowId,
    }),
  );
  const answeredMs = performance.now();
  const workflowExecution = { workflowId, runId };
  try {
    const { workflowExecutionInfo } = await bounded(client, () =>
      workflowService.describeWorkflowExecution({ namespace, execution: workflowExecution }),
    );
    const begunMs = durationMs(workflowExecutionInfo?.startTime);
    const task = await bounded(
      client,
      () => workflowService.pollWorkflowTaskQueue({ namespace, taskQueue, identity: 'agent-reach doctor' }),
      PROBE_LIMIT_MS,
    );
    if (!task.taskToken?.length) throw new Error('the timer did not fire in time');
    const roundTripMs = answeredMs - started.ms;
    // The start lies somewhere within its round trip, and so does the server's stamp of it.
    const middleMs = started.wallMs + roundTripMs / 2;
    return {
      lateMs: performance.now() - answeredMs - PROBE_TIMER_MS,
      clock: { whose: 'Temporal', aheadMs: begunMs - middleMs, withinMs: roundTripMs / 2 + 1 },
    };
  } finally {
    await remove(client, namespace, workflowExecution);
  }
}

/** Leaves nothing in lists; where it may not be deleted, its timeout ends it. */
async function remove(
  client: Client,
  namespace: string,
  workflowExecution: { workflowId: string; runId?: string | null },
): Promise<void> {
  await bounded(client, () => client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution })).catch(
    () => undefined,
  );
}

function durationMs(value: { seconds?: unknown; nanos?: number | null } | null | undefined): number {
  return Number(value?.seconds ?? 0) * 1_000 + (value?.nanos ?? 0) / 1e6;
}
