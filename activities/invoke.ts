import { performance } from 'node:perf_hooks';
import { CancelledFailure, Context } from '@temporalio/activity';
import { attemptBudgetMs, remainingMs } from '../src/policy/deadline-budget';
import { hasNoShare } from '../src/policy/bulkhead';
import { mayRepeat } from '../src/policy/retry';
import { ReachError } from '../src/protocol/reach-error';
import type { AttemptRecord } from '../src/protocol/shapes';
import type { InvokeInput, InvokeOutcome, RetryTerms, Stale } from '../workflows/messages';
import { AttemptStopped, makeAttempt, type AttemptContext, type AttemptResult } from './attempt';
import { findAgent, type ActivityDependencies } from './dependencies';
import { asFailure, invokeFailure } from './failure';
import { isAway } from './large-payloads';
import { readProgress, type Progress } from './progress';
import { decideRetry, noSlot, releasePermit, takePermit, waitsForSlot, withDecision } from './retrying';
import { routeRequest } from './route';

/** How long a retry stays away when the agent has all its retries under way, ms, ±50 %; twice as long each time. */
const SLOT_WAIT_MS = { first: 1_000, most: 16_000 };
/** How often a running attempt tells the server that it lives; cancellation comes back with the answer. */
const HEARTBEAT_INTERVAL_MS = 1_000;

/**
 * A single attempt within a local activity; its failure is a value, not an exception, and says what comes next.
 * Null when it was turned away before the agent was called: the regular way has more patience.
 */
export async function invokeOnce(deps: ActivityDependencies, input: InvokeInput): Promise<InvokeOutcome | null> {
  const share = remainingShareMs(input.share_ms);
  const budgetMs = () => attemptBudgetMs(share(), input.timeout_ms);
  const attempt = { n: input.attempts_before + 1, budgetMs, leftMs: share, avoid: [], retry: false, patienceMs: 0 };
  const result = await makeAttempt(deps, input, { ...surroundings(input), ...attempt }).catch((caught: unknown) => {
    throw caught instanceof AttemptStopped ? caught.cause : caught;
  });
  if (result.kind === 'turned_away') return null;
  if (!result.error) return answerOf(result, [result.record]);
  const terms = retryTerms(input, { leftMs: share(), retry: 1, permit: null, made: 1 });
  const decision = await decideRetry(deps, { agentName: input.agent_name, error: result.error, terms });
  return withDecision(invokeFailure(result.error, [result.record]), decision);
}

/**
 * The `invoke` activity: one attempt per execution, repeated by the server without a limit of its own, since not every
 * execution is an attempt: how many may still be made is decided here (R26). What happened so far travels in the
 * heartbeat, as the server keeps only the last execution in the history.
 */
export async function invoke(deps: ActivityDependencies, input: InvokeInput): Promise<InvokeOutcome | Stale> {
  const context = Context.current();
  const share = remainingShareMs(input.share_ms);
  if (context.info.attempt === 1 && isStale(deps, input)) return { kind: 'stale' };
  let progress = readProgress(input, context.info);
  const heartbeat = setInterval(() => context.heartbeat(progress), HEARTBEAT_INTERVAL_MS);
  try {
    // A first attempt has nothing to tell yet, and a heartbeat is a write on the server.
    if (context.info.attempt > 1) context.heartbeat(progress);
    // Asks etcd, which may be slow: by now the server hears that this execution lives.
    progress = await resume(deps, input, { progress, leftMs: share() });
    const result = await makeAttempt(deps, input, {
      ...surroundings(input),
      ...attemptOf(deps, input, progress, share),
    });
    if (result.kind === 'turned_away')
      return turnedAway(deps, input, { progress, error: result.error, leftMs: share() });
    const attempts = [...progress.attempts, result.record];
    if (!result.error) {
      release(deps, input, progress);
      return answerOf(result, attempts);
    }
    throw await failure(deps, input, { progress: { ...progress, attempts }, error: result.error, leftMs: share() });
  } catch (caught) {
    throw caught instanceof AttemptStopped ? cancelled(caught, progress) : caught;
  } finally {
    clearInterval(heartbeat);
  }
}

/** A cancelled reach shows the attempt that it stopped; one that a shutdown stopped is repeated by the server. */
function cancelled({ record, cause }: AttemptStopped, { attempts }: Progress): unknown {
  const { reason } = Context.current().cancellationSignal as { reason?: Error };
  if (reason?.message === 'WORKER_SHUTDOWN') return cause;
  return new CancelledFailure('The reach was cancelled', [{ attempts: [...attempts, record] }]);
}

function surroundings(input: InvokeInput): Pick<AttemptContext, 'reachId' | 'runId' | 'runStartMs' | 'signal'> {
  const { info, cancellationSignal } = Context.current();
  return {
    reachId: info.workflowExecution?.workflowId ?? '',
    runId: info.workflowExecution?.runId ?? '',
    runStartMs: input.run_start_ms ?? 0,
    signal: cancellationSignal,
  };
}

function attemptOf(
  deps: ActivityDependencies,
  input: InvokeInput,
  { attempts, permit }: Progress,
  share: () => number,
): Pick<AttemptContext, 'n' | 'budgetMs' | 'leftMs' | 'avoid' | 'retry' | 'patienceMs'> {
  return {
    n: input.attempts_before + attempts.length + 1,
    budgetMs: () => attemptBudgetMs(share(), input.timeout_ms),
    leftMs: share,
    avoid: attempts.flatMap(({ instance }) => instance ?? []),
    retry: permit !== null || attempts.length > 0,
    patienceMs: deps.queueWaitMs,
  };
}

/** Whether the decision was made elsewhere, a moment ago, and no longer stands on this worker's view of the registry. */
function isStale(deps: ActivityDependencies, input: InvokeInput): boolean {
  if (!input.confirm) return false;
  const { agent_name, agent_version, ability, admission, envelope, lineage } = input;
  const chosen = { agent_name, agent_version, ability, ...(admission && { admission }) };
  return !deps.router.stillGood({ chosen }, routeRequest({ envelope, exclude: [], chain: lineage?.chain }));
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

/**
 * Executions that did not survive to write a record lost their worker (W08). They are attempts like others: one that may
 * not be repeated, or was the last allowed, ends here, and a further one is a retry that needs a slot.
 */
async function resume(
  deps: ActivityDependencies,
  input: InvokeInput,
  { progress, leftMs }: { progress: Progress; leftMs: number },
): Promise<Progress> {
  const { attempts, given_up: givenUp } = progress;
  if (givenUp) throw asFailure(errorOf(givenUp), false, { attempts });
  const last = attempts.at(-1);
  if (last?.code !== 'worker_lost') return withSlot(deps, input, { progress, leftMs });
  const terms = retryTerms(input, { leftMs, retry: 1, permit: progress.permit, made: attempts.length });
  const error = workerLost(mayRepeat(last.received, terms));
  const retried = await decideRetry(deps, {
    agentName: input.agent_name,
    // The server has waited already; a lost worker is worth another attempt like a lost agent.
    error: new ReachError('agent_unavailable', error.message, { received: last.received }),
    terms,
  });
  if (retried.retry) return { ...progress, permit: retried.permit };
  if (waitsForSlot(retried.error)) throw comeBack(deps, { progress, error, leftMs });
  throw giveUp(progress, retried.error.code === 'agent_unavailable' ? error : retried.error);
}

/**
 * The end of this agent. It is told with a heartbeat as well: when its answer is lost on the way, the execution that follows
 * says the same again instead of calling an agent that was to be called no more.
 */
function giveUp(progress: Progress, error: ReachError) {
  const { attempts } = progress;
  const given_up = { problem: error.toProblem(), received: error.options.received ?? 'no' };
  Context.current().heartbeat({ ...progress, permit: null, given_up } satisfies Progress);
  return asFailure(error, false, { attempts });
}

function errorOf({ problem, received }: NonNullable<Progress['given_up']>): ReachError {
  const { code, message, options } = ReachError.fromProblem(problem);
  return new ReachError(code, message, { ...options, received });
}

/**
 * A retry calls its agent with a slot only (R27). Whoever was asleep for longer than slots are kept, or was turned away since
 * it got one, has none that is sure to be its own.
 */
async function withSlot(
  deps: ActivityDependencies,
  input: InvokeInput,
  { progress, leftMs }: { progress: Progress; leftMs: number },
): Promise<Progress> {
  const { attempts, permit, turned_away } = progress;
  const isRetry = attempts.length > 0 || input.permit !== undefined;
  if (!isRetry || (permit !== null && turned_away === 0)) return progress;
  const terms = retryTerms(input, { leftMs, retry: 1, permit, made: attempts.length });
  const slot = await takePermit(deps, input.agent_name, { terms, waitMs: 0 });
  if (slot !== null) return { ...progress, permit: slot };
  const last = attempts.at(-1);
  const failed = new ReachError(last?.code ?? 'agent_unavailable', last?.message ?? 'the attempt before failed', {
    received: last?.received ?? 'unknown',
  });
  throw comeBack(deps, { progress: { ...progress, permit: null }, error: noSlot(input.agent_name, failed), leftMs });
}

/**
 * Waits for a slot of the agent's retries instead of giving up. A lost worker takes many calls with it, and none of them is the
 * agent's fault: what was accepted is delivered, eight at a time.
 */
function comeBack(
  deps: ActivityDependencies,
  { progress, error, leftMs }: { progress: Progress; error: ReachError; leftMs: number },
) {
  const { attempts, turned_away: before } = progress;
  const delayMs = Math.round(Math.min(SLOT_WAIT_MS.most, SLOT_WAIT_MS.first * 2 ** before) * (0.5 + deps.random()));
  if (delayMs + 2 >= leftMs) return asFailure(error, false, { attempts });
  Context.current().heartbeat({ ...progress, turned_away: before + 1 });
  return asFailure(error, true, { attempts, delayMs });
}

function workerLost(repeatable: boolean): ReachError {
  const message = repeatable
    ? 'The worker was lost in the middle of the attempt, as often as it may be tried'
    : 'The worker was lost in the middle of the attempt, and the request may not be sent twice';
  return new ReachError('worker_lost', message, { received: 'unknown' });
}

/** Nobody was called: the decision is made anew, the caller learns it at once, or a durable hand-over comes back later. */
function turnedAway(
  deps: ActivityDependencies,
  input: InvokeInput,
  { progress, error, leftMs }: { progress: Progress; error: ReachError; leftMs: number },
): Stale {
  const { attempts } = progress;
  if (error.code === 'circuit_open' && input.confirm && attempts.length === 0) return { kind: 'stale' };
  const patient =
    isAway(error) || (error.code === 'overloaded' && (input.envelope.mode === 'async' || hasNoShare(error)));
  // The bulkhead that refused, the agent's or the instance's, has said when to come back, spread already.
  const delayMs = error.options.retryAfterMs ?? deps.bulkheads.retryDelayMs(input.agent_name, limitOf(deps, input));
  if (patient && delayMs + 2 < leftMs) {
    Context.current().heartbeat({ ...progress, turned_away: progress.turned_away + 1 });
    throw asFailure(error, true, { attempts, delayMs });
  }
  release(deps, input, progress);
  deps.bulkheads.left?.(input.agent_name, Context.current().info.workflowExecution?.workflowId ?? '');
  const last = attempts.at(-1);
  const extra = last?.code ? { last_error: { code: last.code, message: last.message ?? '' } } : undefined;
  throw giveUp(progress, extra ? error.with(extra) : error);
}

function limitOf(deps: ActivityDependencies, { agent_name, agent_version }: InvokeInput): number {
  const agent = findAgent(deps.world(), agent_name, agent_version);
  return agent ? deps.limitOf(agent) : 1;
}

async function failure(
  deps: ActivityDependencies,
  input: InvokeInput,
  { progress, error, leftMs }: { progress: Progress; error: ReachError; leftMs: number },
) {
  const { attempts, permit } = progress;
  const retry = attempts.length + (input.permit === undefined ? 0 : 1);
  const terms = retryTerms(input, { leftMs, retry, permit, made: attempts.length });
  const decision = await decideRetry(deps, { agentName: input.agent_name, error, terms });
  if (!decision.retry) return giveUp(progress, decision.error);
  Context.current().heartbeat({ ...progress, permit: decision.permit });
  return asFailure(error, true, { attempts, delayMs: decision.delayMs });
}

function release(deps: ActivityDependencies, input: InvokeInput, { permit }: Progress): void {
  const holder = Context.current().info.workflowExecution?.workflowId ?? '';
  releasePermit(deps, input.agent_name, { reach_id: holder, permit });
}

function retryTerms(
  input: InvokeInput,
  { leftMs, retry, permit, made }: { leftMs: number; retry: number; permit: number | null; made: number },
): RetryTerms {
  return {
    reach_id: Context.current().info.workflowExecution?.workflowId ?? '',
    semantics: input.envelope.delivery_semantics,
    idempotent: input.idempotent,
    retries_left: input.retries - (made - 1),
    left_ms: leftMs,
    retry,
    attempt_ms: attemptBudgetMs(leftMs, input.timeout_ms),
    permit,
    failed_attempt: input.attempts_before + made,
    ...(input.tree && { tree: input.tree }),
  };
}

function answerOf(result: Extract<AttemptResult, { kind: 'made' }>, attempts: AttemptRecord[]): InvokeOutcome {
  const { instance } = result.record;
  return result.answer?.kind === 'answer'
    ? { ...result.answer, instance, attempts }
    : { kind: 'accepted', instance, attempts };
}
