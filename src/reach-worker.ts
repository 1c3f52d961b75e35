import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities/create-activities';
import { createCallbackWorker } from './callbacks';
import type { Platform } from './platform';
import type { RoutingLog } from './telemetry/routing-log';
import { together, type RunningWorker } from './workers';

/** Workflow tasks of a worker at once; those of the fast path last as long as their calls. */
const WORKFLOW_TASK_SLOTS = 120;
/**
 * Reaches kept in memory between their tasks, more than can have one at once: each takes 0.35 MB, most of it outside of V8. One that
 * waits for long is read from its history again, which costs a request and some milliseconds once.
 */
const CACHED_WORKFLOWS = 124;

/**
 * Temporal's worker without its guard against workflow code that never returns. The guard is a thread of the operating system
 * for each call into the sandbox, a dozen of them for a reach: half a millisecond of processor and one of latency (docs/decisions/0025).
 * It protects from code that nobody has read; the workflows here are the project's own, and none loops without waiting.
 *
 * `createWorkflowCreator` is a protected member of the SDK for subclasses to override.
 */
class ReachWorker extends Worker {
  protected static override createWorkflowCreator(
    ...[bundle, options, logger]: Parameters<(typeof Worker)['createWorkflowCreator']>
  ): ReturnType<(typeof Worker)['createWorkflowCreator']> {
    // Without a limit `vm.Script.runInContext` starts no thread; the SDK hands it on as it is.
    const unguarded = { ...options, isolateExecutionTimeoutMs: undefined as unknown as number };
    return super.createWorkflowCreator(bundle, unguarded, logger);
  }
}

/**
 * Creates the worker that runs reaches and their activities.
 * @param log where it tells of what nobody could be chosen for (R22)
 */
export async function createWorker(platform: Platform, log: Pick<RoutingLog, 'refused'>): Promise<RunningWorker> {
  const { config, connection } = platform;
  await platform.joinWorkers();
  const reaches = await ReachWorker.create({
    connection,
    namespace: config.temporal.namespace,
    taskQueue: config.temporal.task_queue,
    ...workflowSource(),
    activities: {
      ...createActivities({ ...platform.activities, reportRefusal: (refusal) => log.refused(refusal) }),
      notify: platform.callbacks.dependencies.start,
    },
    // An agent that hangs may hold as many slots as its bulkhead lets it; the others' calls need some too.
    maxConcurrentActivityTaskExecutions: config.bulkhead.max_concurrent_calls,
    maxConcurrentLocalActivityExecutions: config.bulkhead.max_concurrent_calls,
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASK_SLOTS,
    maxCachedWorkflows: CACHED_WORKFLOWS,
    shutdownGraceTime: config.server.graceful_timeout,
    shutdownForceTime: config.server.graceful_timeout + 5_000,
    stickyQueueScheduleToStartTimeout: '2s',
    // Cancellation comes back with a heartbeat: the default throttle would let it wait 2.4 s.
    maxHeartbeatThrottleInterval: '1s',
  });
  return together(reaches, await createCallbackWorker(platform.callbacks, { connection, config }));
}

/** The prebuilt bundle where there is one (compiled, or made once for all tests), else the sources, bundled at start. */
function workflowSource(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const bundle = process.env.AGENT_REACH_WORKFLOW_BUNDLE ?? resolve(__dirname, '../workflow-bundle.js');
  return existsSync(bundle)
    ? { workflowBundle: { codePath: bundle } }
    : { workflowsPath: require.resolve('../workflows') };
}
