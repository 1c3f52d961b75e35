import { Context, type Info } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { isTransient } from '../protocol/error-codes';
import { MAX_INLINE_BYTES } from '../protocol/payload-ref';
import { ReachError } from '../protocol/reach-error';
import { AGENT_ACTIVITY, type WorkerAnswer, type WorkerCall, type WorkerFailureDetail } from '../protocol/worker-wire';
import type { AgentHost } from './agent-host';
import { CallStopped, failureOf, type StopReason } from './agent-errors';
import type { AgentLog, WorkerHostOptions } from './agent-types';
import { uploaded, withPayload, type PayloadStore } from './by-reference';
import { stopReason, type CallRunner } from './call-runner';
import { compactOver } from './large-payloads';
import type { WorkerAddress } from './registration-api';

/** What a {@link WorkerHost} is made of. */
export interface WorkerHostParts {
  runner: CallRunner;
  instanceId: string;
  maxConcurrency: number;
  /** Fixed when the worker is made: how long a shutdown lets activities finish, ms. */
  graceMs: number;
  log: AgentLog;
  at: WorkerAddress;
  payloads: PayloadStore;
  options: WorkerHostOptions;
}

/** Cancellation rides on heartbeats: one a second (`invoke` heartbeats time out after 3 s). */
const HEARTBEAT_MS = 1_000;
/** How long handlers may take to notice that they were aborted before the worker is torn down, ms. */
const FORCE_AFTER_MS = 5_000;
/** Kept back from an attempt for reporting its end: a twentieth, at most this, ms. */
const RETURN_MS = 100;
const RETURN_SHARE = 0.05;

/** Runs the agent as a Temporal activity worker on its own task queue (R37): Temporal holds the work while no agent polls. */
export class WorkerHost implements AgentHost {
  readonly ended: Promise<void>;

  private constructor(
    private readonly worker: Worker,
    private readonly connection: NativeConnection,
  ) {
    this.ended = worker.run();
    this.ended.catch(() => undefined);
  }

  /** Connects and polls. Throws `engine_unavailable` when Temporal cannot be reached. */
  static async start(parts: WorkerHostParts): Promise<WorkerHost> {
    const { options, at } = parts;
    adoptRuntimeLog(parts.log);
    const connection = await connect(options.address ?? at.address, options);
    try {
      const worker = await Worker.create({
        connection,
        namespace: options.namespace ?? at.namespace,
        taskQueue: at.task_queue,
        identity: parts.instanceId,
        activities: { [AGENT_ACTIVITY]: activityOf(parts) },
        maxConcurrentActivityTaskExecutions: parts.maxConcurrency,
        maxHeartbeatThrottleInterval: HEARTBEAT_MS,
        shutdownGraceTime: parts.graceMs,
        shutdownForceTime: parts.graceMs + FORCE_AFTER_MS,
      });
      return new WorkerHost(worker, connection);
    } catch (caught) {
      await connection.close();
      throw caught;
    }
  }

  async drain(): Promise<void> {
    // A signal may have stopped it already: Temporal's runtime listens to SIGTERM and SIGINT by itself.
    if (this.worker.getState() === 'RUNNING') this.worker.shutdown();
    await this.ended.catch(() => undefined);
    await this.connection.close();
  }
}

/**
 * Temporal's warnings go where the agent's do. Its runtime is one per process and can be set up once: a program that has
 * set it up already keeps what it has. Failed attempts are left out here, the agent logs them itself.
 */
function adoptRuntimeLog(log: AgentLog): void {
  const expected = /^Activity failed|^No workflows registered/;
  const logger = new DefaultLogger('WARN', ({ level, message, meta }) => {
    if (!expected.test(message)) log[level === 'WARN' ? 'warn' : 'error']({ ...meta }, message);
  });
  try {
    Runtime.install({ logger });
  } catch {
    // set up already
  }
}

async function connect(address: string, options: WorkerHostOptions): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect({ address, tls: options.tls, apiKey: options.apiKey });
  } catch (cause) {
    throw new ReachError(
      'engine_unavailable',
      `Temporal cannot be reached at ${address}; set worker.address if the agent sees it elsewhere`,
      { cause },
    );
  }
}

/** The activity that every agent worker offers; see the contract in `protocol/worker-wire`. */
function activityOf({
  runner,
  instanceId: instance,
  payloads,
}: Pick<WorkerHostParts, 'runner' | 'instanceId' | 'payloads'>) {
  return async (call: WorkerCall): Promise<WorkerAnswer> => {
    const context = Context.current();
    const detail: WorkerFailureDetail = { instance, received_at: new Date().toISOString() };
    const stopBeating = beat(context, detail);
    const cancelled = followCancellation(context);
    try {
      const { workflowExecution: run } = context.info;
      const naming: Record<string, string> = run ? { 'x-reach-parent': `${run.workflowId}/${run.runId}` } : {};
      const origin = { traceparent: call.traceparent, naming, signal: cancelled, limitMs: limitOf(context.info) };
      const output = await runner.start(await withPayload(call, payloads, cancelled), origin).answer;
      const content = compactOver(output, MAX_INLINE_BYTES);
      if (!content) return { output, ...detail };
      return { output: {}, output_ref: await uploaded(content, payloads, cancelled), ...detail };
    } catch (caught) {
      const stopped = stopReason(cancelled);
      if (stopped === 'cancelled') throw new CancelledFailure('The attempt was cancelled');
      // A transfer that is stopped throws why, which has no code of its own.
      throw toFailure(caught instanceof ReachError ? caught : failureOf(caught, stopped), detail);
    } finally {
      stopBeating();
    }
  };
}

/** The first heartbeat at once: whatever happens next, the workflow can tell that the call arrived (R33). */
function beat(context: Context, detail: WorkerFailureDetail): () => void {
  if (!context.info.heartbeatTimeoutMs) return () => undefined;
  context.heartbeat(detail);
  const timer = setInterval(() => context.heartbeat(detail), HEARTBEAT_MS);
  return () => clearInterval(timer);
}

function followCancellation(context: Context): AbortSignal {
  const controller = new AbortController();
  const follow = () => controller.abort(new CallStopped(reasonOf(context)));
  if (context.cancellationSignal.aborted) follow();
  else context.cancellationSignal.addEventListener('abort', follow, { once: true });
  return controller.signal;
}

function reasonOf(context: Context): StopReason {
  const details = context.cancellationDetails;
  if (details?.workerShutdown) return 'shutdown';
  return details?.timedOut ? 'deadline' : 'cancelled';
}

/** The tighter of the activity's own timeouts, less the way back, so that the agent's verdict comes before the server's. */
function limitOf(info: Info): number {
  const limits = [info.startToCloseTimeoutMs, info.scheduleToCloseTimeoutMs].filter((ms) => ms > 0);
  const tightest = Math.min(...limits, Number.MAX_SAFE_INTEGER);
  return tightest - Math.min(RETURN_MS, tightest * RETURN_SHARE);
}

function toFailure(error: ReachError, detail: WorkerFailureDetail): ApplicationFailure {
  const { retryAfterMs } = error.options;
  const failure = ApplicationFailure.create({
    message: error.message,
    type: error.code,
    nonRetryable: !isTransient(error.code),
    details: [
      { ...detail, ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }) } satisfies WorkerFailureDetail,
    ],
    ...(retryAfterMs !== undefined && { nextRetryDelay: retryAfterMs }),
  });
  failure.stack = undefined; // the agent's files are nobody's business
  return failure;
}
