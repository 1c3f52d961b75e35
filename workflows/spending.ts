import { workflowInfo } from '@temporalio/workflow';
import { nextAttempt, retriesAllowed } from '../src/policy/retry';
import type { TreeBudget } from '../src/protocol/lineage';
import type { BreakerTicket } from '../src/protocol/reliability';
import type { AttemptRecord } from '../src/protocol/shapes';
import { leftMs, runStartMs } from './clock';
import { failed } from './failures';
import type { InvokeFailure, InvokeInput, InvokeOutcome, ReachInput, RetryTerms, Routed } from './messages';

/** What a reach has spent so far, over all agents. */
export interface Spent {
  attempts: AttemptRecord[];
  /** Retries used of the tree's budget (`max_total_retries`); moving on to another agent uses one too. */
  retries: number;
  /** Leave to pass the breaker of the agent that is called, for agents that pull. */
  ticket?: BreakerTicket;
}

/** Counts the attempts of one outcome. */
export function record(spent: Spent, outcome: InvokeOutcome): void {
  spent.attempts.push(...outcome.attempts);
  spent.retries += Math.max(0, outcome.attempts.length - 1);
}

/** Retries that this agent may still get after `used` of its own: its limit or the tree's rest; none for at_most_once. */
export function retriesLeft(
  input: ReachInput,
  routed: Routed,
  { spent, used }: { spent: Spent; used: number },
): number {
  if (input.envelope.delivery_semantics === 'at_most_once') return 0;
  return retriesAllowed(routed.target.max_retry - used, input.envelope.max_total_retries - spent.retries);
}

/**
 * The tree whose retries this reach shares: that of the reach it is nested in. A run that was reset has a budget of its own,
 * as a redrive is a new beginning.
 */
export function treeOf({ lineage, envelope }: ReachInput): TreeBudget {
  const { runId, firstExecutionRunId } = workflowInfo();
  if (lineage && runId === firstExecutionRunId) return lineage.tree;
  return { run: runId, limit: envelope.max_total_retries, ends_ms: runStartMs() + envelope.timeout_ms };
}

/** What an activity needs to decide about another attempt; `retry` is its number. */
export function retryTerms(
  input: ReachInput,
  routed: Routed,
  at: { spent: Spent; retry: number; permit: number | null; attemptMs: number; failedAttempt?: number },
): RetryTerms {
  return {
    reach_id: currentReachId(),
    semantics: input.envelope.delivery_semantics,
    idempotent: routed.target.idempotent,
    retries_left: retriesLeft(input, routed, { spent: at.spent, used: at.retry - 1 }),
    left_ms: leftMs(input.envelope.timeout_ms),
    retry: at.retry,
    attempt_ms: at.attemptMs,
    permit: at.permit,
    tree: treeOf(input),
    failed_attempt: at.failedAttempt ?? at.spent.attempts.length,
  };
}

/** Another attempt at the same agent, or the failure with which it is given up. */
export type Next =
  | { retry: true; delayMs: number; permit: number | null; ticket?: BreakerTicket }
  | { retry: false; failure: InvokeFailure };

/** What the activity that saw the failure has decided; null when it decided nothing, as in 0.1. */
export function nextOf(failure: InvokeFailure): Next | null {
  if (failure.next === undefined) return null;
  const { next } = failure;
  if (next === null) return { retry: false, failure };
  return { retry: true, delayMs: next.delay_ms, permit: next.permit, ...(next.ticket && { ticket: next.ticket }) };
}

/** The decision as workflows of 0.1 made it, for their histories: retry number `retry`. `Math.random` is seeded in the sandbox. */
export function decidedHere(
  input: ReachInput,
  routed: Routed,
  last: { failure: InvokeFailure; spent: Spent; retry: number },
): Next {
  const { problem, received } = last.failure;
  // In 0.1 nothing was tried again that the platform itself was to blame for.
  if (problem.code === 'engine_unavailable') return { retry: false, failure: last.failure };
  const verdict = nextAttempt(
    { code: problem.code, received, retryAfterMs: problem.retry_after_ms },
    {
      semantics: input.envelope.delivery_semantics,
      idempotent: routed.target.idempotent,
      retriesLeft: retriesLeft(input, routed, { spent: last.spent, used: last.retry - 1 }),
      leftMs: leftMs(input.envelope.timeout_ms),
    },
    last.retry,
    Math.random,
  );
  if (verdict.retry) return { retry: true, delayMs: verdict.delayMs, permit: null };
  return { retry: false, failure: verdict.because === 'no_time' ? outOfTime(last.failure) : last.failure };
}

/** A failure that there is no time to repeat ends as `deadline_exceeded`, with the real error kept behind it. */
export function outOfTime(last: InvokeFailure | null): InvokeFailure {
  const failure = failed('deadline_exceeded', describe(last), last?.received ?? 'no');
  if (last) failure.problem.last_error = { code: last.problem.code, message: last.problem.detail };
  return failure;
}

function describe(last: InvokeFailure | null): string {
  const cause = last
    ? `; the last attempt failed with ${last.problem.code}: ${last.problem.detail}`
    : ' before the agent could be called';
  return `The time of the reach ended${cause}`;
}

/** What the invoking activities need for the next call of `routed`. */
export function invokeInput(input: ReachInput, routed: Routed, spent: Spent): InvokeInput {
  const { chosen, decision_id } = routed.decision;
  return {
    tenant: input.tenant,
    envelope: input.envelope,
    decision_id,
    agent_name: chosen.agent_name,
    agent_version: chosen.agent_version,
    ability: chosen.ability,
    share_ms: leftMs(input.envelope.timeout_ms),
    timeout_ms: routed.target.timeout_ms,
    retries: retriesLeft(input, routed, { spent, used: 0 }),
    idempotent: routed.target.idempotent,
    attempts_before: spent.attempts.length,
    confirm: false,
    trace_id: input.trace_id,
    run_start_ms: runStartMs(),
    tree: treeOf(input),
    ...(input.lineage && { lineage: input.lineage }),
    ...(chosen.admission && { admission: chosen.admission }),
  };
}

/** One line for the Temporal Web UI. */
export function summaryOf({ decision: { chosen } }: Routed): string {
  return `${chosen.agent_name}@${chosen.agent_version} · ${chosen.ability} · score ${chosen.score.toFixed(3)}`.slice(
    0,
    200,
  );
}

/** The id of this reach. */
export function currentReachId(): string {
  return workflowInfo().workflowId;
}
