import { performance } from 'node:perf_hooks';
import { Context } from '@temporalio/activity';
import { attemptBudgetMs, remainingMs } from '../src/policy/deadline-budget';
import { mayRepeat, nextAttempt } from '../src/policy/retry';
import { ReachError } from '../src/protocol/reach-error';
import type { AttemptRecord } from '../src/protocol/shapes';
import type { InvokeInput, InvokeOutcome, Stale } from '../workflows/messages';
import { makeAttempt, type AttemptResult } from './attempt';
import type { ActivityDependencies } from './dependencies';
import { asFailure, invokeFailure } from './failure';
import { routeRequest } from './route';

/** How often a running attempt tells the server that it lives; cancellation comes back with the answer. */
const HEARTBEAT_INTERVAL_MS = 1_000;

/** A single attempt within a local activity; its failure is a value, not an exception. */
export async function invokeOnce(deps: ActivityDependencies, input: InvokeInput): Promise<InvokeOutcome> {
  const { info, cancellationSignal } = Context.current();
  const result = await makeAttempt(deps, input, {
    reachId: info.workflowExecution?.workflowId ?? '',
    runId: info.workflowExecution?.runId ?? '',
    n: input.attempts_before + 1,
    budgetMs: attemptBudgetMs(input.share_ms, input.timeout_ms),
    signal: cancellationSignal,
    avoid: [],
  });
  return outcomeOf(result, [result.record]);
}

/**
 * The `invoke` activity: one attempt per execution, repeated by the server through the RetryPolicy. The list of
 * attempts travels in the heartbeat, since the server keeps only the last execution in the history.
 */
export async function invoke(deps: ActivityDependencies, input: InvokeInput): Promise<InvokeOutcome | Stale> {
  const context = Context.current();
  const { info } = context;
  if (info.attempt === 1 && isStale(deps, input)) return { kind: 'stale' };
  const share = remainingShareMs(input.share_ms);
  const earlier = earlierAttempts(
    input,
    info.attempt,
    (info.heartbeatDetails as { attempts?: AttemptRecord[] } | undefined)?.attempts ?? [],
  );
  assertRepeatable(input, earlier);
  const heartbeat = setInterval(() => context.heartbeat({ attempts: earlier }), HEARTBEAT_INTERVAL_MS);
  try {
    // A first attempt has nothing to tell yet, and a heartbeat is a write on the server.
    if (earlier.length > 0) context.heartbeat({ attempts: earlier });
    const result = await makeAttempt(deps, input, {
      reachId: info.workflowExecution?.workflowId ?? '',
      runId: info.workflowExecution?.runId ?? '',
      n: input.attempts_before + info.attempt,
      budgetMs: attemptBudgetMs(share(), input.timeout_ms),
      signal: context.cancellationSignal,
      avoid: earlier.flatMap(({ instance }) => instance ?? []),
    });
    const attempts = [...earlier, result.record];
    if (!result.error) return outcomeOf(result, attempts);
    context.heartbeat({ attempts });
    throw failure(deps, input, { error: result.error, attempts, leftMs: share(), retry: info.attempt });
  } finally {
    clearInterval(heartbeat);
  }
}

/** Whether the decision was made elsewhere, a moment ago, and no longer stands on this worker's view of the registry. */
function isStale(deps: ActivityDependencies, input: InvokeInput): boolean {
  if (!input.confirm) return false;
  const { agent_name, agent_version, ability, envelope } = input;
  return !deps.router.stillGood(
    { chosen: { agent_name, agent_version, ability } },
    routeRequest({ envelope, exclude: [] }),
  );
}

/**
 * What is left of the share, ms: the server says how long ago the activity was first scheduled (both ends on the
 * server's clock), this process measures the rest monotonically.
 */
function remainingShareMs(shareMs: number): () => number {
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = Context.current().info;
  const startedMs = performance.now();
  const spentMs = Math.max(0, currentAttemptScheduledTimestampMs - scheduledTimestampMs);
  return () => remainingMs(shareMs, spentMs + performance.now() - startedMs);
}

/** Executions without a record did not survive to write one: their worker was lost (W08). */
function earlierAttempts(input: InvokeInput, execution: number, known: AttemptRecord[]): AttemptRecord[] {
  const missing = Math.max(0, execution - 1 - known.length);
  const lost = Array.from({ length: missing }, (_, index): AttemptRecord => ({
    n: input.attempts_before + known.length + index + 1,
    agent_name: input.agent_name,
    agent_version: input.agent_version,
    instance: null,
    started_at: new Date(Context.current().info.scheduledTimestampMs).toISOString(),
    duration_ms: 0,
    received: 'unknown',
    code: 'worker_lost',
    message: 'The worker was lost in the middle of the attempt',
  }));
  return [...known, ...lost];
}

/** After a crash the server starts the activity again by itself; a request that may not be sent twice ends here. */
function assertRepeatable(input: InvokeInput, earlier: AttemptRecord[]): void {
  const terms = { semantics: input.envelope.delivery_semantics, idempotent: input.idempotent };
  const last = earlier.at(-1);
  if (!last || mayRepeat(last.received, terms)) return;
  const error = new ReachError(
    'worker_lost',
    'The worker was lost in the middle of the attempt, and the request may not be sent twice',
    { received: 'unknown' },
  );
  throw asFailure(error, false, { attempts: earlier });
}

function failure(
  deps: ActivityDependencies,
  input: InvokeInput,
  last: { error: ReachError; attempts: AttemptRecord[]; leftMs: number; retry: number },
): Error {
  const { error, attempts, leftMs, retry } = last;
  const verdict = nextAttempt(
    { code: error.code, received: error.options.received ?? 'no', retryAfterMs: error.options.retryAfterMs },
    {
      semantics: input.envelope.delivery_semantics,
      idempotent: input.idempotent,
      retriesLeft: input.retries - (retry - 1),
      leftMs,
    },
    retry,
    deps.random,
  );
  if (verdict.retry) return asFailure(error, true, { attempts, delayMs: verdict.delayMs });
  if (verdict.because !== 'no_time') return asFailure(error, false, { attempts });
  const late = new ReachError(
    'deadline_exceeded',
    `The time left does not allow another attempt; the last one failed with ${error.code}: ${error.message}`,
    {
      received: error.options.received,
      extra: { last_error: { code: error.code, message: error.message } },
    },
  );
  return asFailure(late, false, { attempts });
}

function outcomeOf(result: AttemptResult, attempts: AttemptRecord[]): InvokeOutcome {
  if (result.error) return invokeFailure(result.error, attempts);
  const { instance } = result.record;
  return result.answer?.kind === 'answer'
    ? { kind: 'answer', output: result.answer.output, instance, attempts }
    : { kind: 'accepted', instance, attempts };
}
