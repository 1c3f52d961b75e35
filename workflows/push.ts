import { ActivityCancellationType, proxyActivities, proxyLocalActivities, sleep } from '@temporalio/workflow';
import { attemptBudgetMs } from '../src/policy/deadline-budget';
import { MAX_LOCAL_ATTEMPT_MS } from '../src/protocol/limits';
import { leftMs } from './clock';
import { failureOf } from './failures';
import type { InvokeInput, InvokeOutcome, ReachActivities, ReachInput, Routed } from './messages';
import { invokeInput, outOfTime, record, retriesLeft, summaryOf, verdict, type Spent } from './spending';

/** Heartbeats carry cancellation and prove that the worker lives; three missed ones mean that it is lost. */
export const HEARTBEAT_TIMEOUT_MS = 3_000;
/** A local activity's own timeout lies beyond the attempt's, so that the attempt's classification wins. */
const LOCAL_SLACK_MS = 500;

/** Calls a push agent from the platform's worker until it answers, refuses, or its retries and time are used up. */
export async function push(input: ReachInput, routed: Routed, spent: Spent): Promise<InvokeOutcome> {
  const call = invokeInput(input, routed, spent);
  if (!fastPathFits(input, routed)) return pushRegular(routed, call, spent);

  const first = await invokeLocally(call);
  record(spent, first);
  if (first.kind !== 'failed') return first;
  const next = verdict(input, routed, { failure: first, spent, retry: 1 });
  if (!next.retry) return next.because === 'no_time' ? outOfTime(first) : first;
  await sleep(next.delayMs);
  spent.retries += 1;
  return pushRegular(
    routed,
    { ...invokeInput(input, routed, spent), retries: retriesLeft(input, routed, { spent, used: 1 }) },
    spent,
  );
}

/**
 * A local activity saves four history events, but leaves no trace of an attempt that its worker did not
 * survive, and holds up cancellation: only for idempotent abilities, short attempts and waiting callers.
 */
function fastPathFits(input: ReachInput, { target }: Routed): boolean {
  const budgetMs = attemptBudgetMs(leftMs(input.envelope.timeout_ms), target.timeout_ms);
  const repeatable = target.idempotent === true && input.envelope.delivery_semantics === 'at_least_once';
  return input.caller_waits && repeatable && budgetMs > 0 && budgetMs <= MAX_LOCAL_ATTEMPT_MS;
}

function invokeLocally(call: InvokeInput): Promise<InvokeOutcome> {
  const { invokeOnce } = proxyLocalActivities<ReachActivities>({
    startToCloseTimeout: attemptBudgetMs(call.share_ms, call.timeout_ms) + LOCAL_SLACK_MS,
    retry: { maximumAttempts: 1 },
  });
  return invokeOnce(call).catch((caught: unknown) => failureOf(caught));
}

async function pushRegular(routed: Routed, call: InvokeInput, spent: Spent): Promise<InvokeOutcome> {
  if (attemptBudgetMs(call.share_ms, call.timeout_ms) < 1) return outOfTime(null);
  const { invoke } = proxyActivities<ReachActivities>({
    scheduleToCloseTimeout: call.share_ms,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: call.retries + 1, initialInterval: 100, backoffCoefficient: 2 },
    summary: summaryOf(routed),
  });
  const outcome = await invoke(call).catch((caught: unknown) => failureOf(caught));
  record(spent, outcome);
  return outcome;
}
