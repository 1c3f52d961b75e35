import { ActivityCancellationType, proxyActivities, proxyLocalActivities, sleep } from '@temporalio/workflow';
import { attemptBudgetMs } from '../src/policy/deadline-budget';
import { mayRunLocally } from '../src/policy/fast-path';
import { MAX_LOCAL_ATTEMPT_MS } from '../src/protocol/limits';
import type { AttemptRecord } from '../src/protocol/shapes';
import { leftMs, nowIso, runStartMs } from './clock';
import { endedByServer, failed, failureOf } from './failures';
import type {
  FastPathOutput,
  InvokeFailure,
  InvokeInput,
  InvokeOutcome,
  ReachActivities,
  ReachInput,
  Routed,
  Stale,
} from './messages';
import {
  decidedHere,
  invokeInput,
  nextOf,
  outOfTime,
  record,
  retriesLeft,
  summaryOf,
  treeOf,
  type Spent,
} from './spending';

/** Heartbeats carry cancellation and prove that the worker lives; three missed ones mean that it is lost. */
export const HEARTBEAT_TIMEOUT_MS = 3_000;
/**
 * A local activity's own timeout lies beyond the attempt's, so that the attempt's classification wins, and beyond what the decision
 * about a retry may wait for etcd (for the tree's budget, for a slot, a second each), so that the attempt is told.
 */
const LOCAL_SLACK_MS = 3_000;

/** Calls a push agent from the platform's worker until it answers, refuses, or its retries and time are used up. */
export async function push(input: ReachInput, routed: Routed, spent: Spent): Promise<InvokeOutcome> {
  return settled(await invokeRegularly(routed, invokeInput(input, routed, spent), spent));
}

/**
 * The first call of a reach: the activity confirms the gateway's decision before it calls, which saves a local activity.
 * Null when the decision no longer stands: nobody was called.
 */
export async function confirmAndPush(input: ReachInput, routed: Routed, spent: Spent): Promise<InvokeOutcome | null> {
  const outcome = await invokeRegularly(routed, { ...invokeInput(input, routed, spent), confirm: true }, spent);
  return outcome.kind === 'stale' ? null : outcome;
}

/** Only a decision that was to be confirmed can be stale. */
function settled(outcome: InvokeOutcome | Stale): InvokeOutcome {
  return outcome.kind === 'stale' ? failed('internal', 'A confirmed decision was called stale') : outcome;
}

/** What became of a failed first attempt on the fast path: given up, or gone on with as a regular activity. */
export async function afterFastPath(
  input: ReachInput,
  routed: Routed,
  { first, spent }: { first: InvokeFailure; spent: Spent },
): Promise<InvokeOutcome> {
  return first.attempts.length === 0 ? first : pushAgain(input, routed, { failed: first, spent, used: 1 });
}

/** Goes on after a failed attempt as was decided about it. `used`: retries of this agent, the next one included. */
export async function pushAgain(
  input: ReachInput,
  routed: Routed,
  { failed: last, spent, used }: { failed: InvokeFailure; spent: Spent; used: number },
): Promise<InvokeOutcome> {
  const next = nextOf(last) ?? decidedHere(input, routed, { failure: last, spent, retry: used });
  if (!next.retry) return { ...next.failure, attempts: [] };
  await sleep(next.delayMs);
  spent.retries += 1;
  const retries = retriesLeft(input, routed, { spent, used });
  const call = { ...invokeInput(input, routed, spent), retries, permit: next.permit };
  return settled(await invokeRegularly(routed, call, spent));
}

/**
 * A local activity saves five history events, but leaves no trace of an attempt that its worker did not
 * survive, and holds up cancellation: only for idempotent abilities, short attempts and waiting callers.
 */
export function fastPathFits(input: ReachInput, { target }: Routed): boolean {
  return input.caller_waits && mayRunLocally(input.envelope, target, leftMs(input.envelope.timeout_ms));
}

/** Confirms the decision and makes the first attempt, both in one local activity. */
export function takeFastPath(input: ReachInput): Promise<FastPathOutput> {
  const { tenant, envelope, routed, trace_id, lineage } = input;
  const { routeAndInvoke } = proxyLocalActivities<ReachActivities>({
    startToCloseTimeout: MAX_LOCAL_ATTEMPT_MS + LOCAL_SLACK_MS,
    retry: { maximumAttempts: 1 },
  });
  const share_ms = leftMs(envelope.timeout_ms);
  const refused = (caught: unknown): FastPathOutput => ({ routed: null, outcome: failureOf(caught) });
  return routeAndInvoke({
    tenant,
    envelope,
    proposed: routed,
    exclude: [],
    share_ms,
    trace_id,
    run_start_ms: runStartMs(),
    tree: treeOf(input),
    ...(lineage && { lineage, chain: lineage.chain }),
  }).catch(refused);
}

async function invokeRegularly(routed: Routed, call: InvokeInput, spent: Spent): Promise<InvokeOutcome | Stale> {
  if (attemptBudgetMs(call.share_ms, call.timeout_ms) < 1) return outOfTime(null);
  const { invoke } = proxyActivities<ReachActivities>({
    scheduleToCloseTimeout: call.share_ms,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    // Not every execution is an attempt, so the activity counts them; a lost worker is tried again after this wait.
    retry: { initialInterval: 100, backoffCoefficient: 2, maximumInterval: '5s' },
    summary: summaryOf(routed),
  });
  const startedAt = nowIso();
  const outcome = await invoke(call).catch((caught: unknown) => {
    const failure = failureOf(caught);
    return endedByServer(caught) ? withTheOneUnderWay(failure, call, startedAt) : failure;
  });
  if (outcome.kind !== 'stale') record(spent, outcome);
  return outcome;
}

/**
 * The server ended the activity together with the reach's time: its worker was lost, or too slow to say how the attempt went.
 * The agent may have had it, so it is told, as an attempt that nobody knows the end of.
 */
function withTheOneUnderWay(failure: InvokeFailure, call: InvokeInput, startedAt: string): InvokeFailure {
  const { attempts, problem } = failure;
  const underWay: AttemptRecord = {
    n: call.attempts_before + attempts.length + 1,
    agent_name: call.agent_name,
    agent_version: call.agent_version,
    instance: null,
    started_at: startedAt,
    duration_ms: call.share_ms,
    received: 'unknown',
    code: problem.code,
    message: 'The time of the reach ended before the worker said how the attempt went',
  };
  return { ...failure, attempts: [...attempts, underWay] };
}
