import { Worker } from '@temporalio/worker';

/**
 * Temporal's worker without its guard against workflow code that never returns. The guard is a thread of the operating system
 * for each call into the sandbox, a dozen of them for a reach: half a millisecond of processor and one of latency (docs/decisions/0025).
 * It protects from code that nobody has read; the workflows here are the project's own, and none loops without waiting.
 *
 * `createWorkflowCreator` is a protected member of the SDK for subclasses to override.
 */
export class ReachWorker extends Worker {
  protected static override createWorkflowCreator(
    ...[bundle, options, logger]: Parameters<(typeof Worker)['createWorkflowCreator']>
  ): ReturnType<(typeof Worker)['createWorkflowCreator']> {
    // Without a limit `vm.Script.runInContext` starts no thread; the SDK hands it on as it is.
    const unguarded = { ...options, isolateExecutionTimeoutMs: undefined as unknown as number };
    return super.createWorkflowCreator(bundle, unguarded, logger);
  }
}
