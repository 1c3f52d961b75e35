/**
 * From what Temporal knows of a reach to what the wire contract says of it. Pure; no I/O.
 */
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import type { DeliverySummary } from '../protocol/callback-target';
import { claimMembers } from './large-output';
import { ReachError, type Problem } from '../protocol/reach-error';
import { remainingMs } from '../policy/deadline-budget';
import type { AttemptRecord, ReachLinks, ReachResult, ReachStatus, Receipt } from '../protocol/shapes';
import type { ReachFailure, ReachMemo, ReachOutput } from '../../workflows/messages';

/** How a reach ended: with the agent's answer or with a status and a problem. */
export type ReachEnd =
  | { status: 'completed'; output: ReachOutput }
  | { status: Exclude<ReachStatus, 'completed' | 'accepted' | 'running'>; problem: Problem; attempts: AttemptRecord[] };

/** A reach that has not, or not well, ended. */
export type RunningView = Omit<Receipt, 'status' | 'expires_in_ms'> & {
  status: ReachStatus;
  ability: string;
  attempts: AttemptRecord[];
  error?: Problem;
  ended_at?: string;
  callback?: DeliverySummary;
  reply?: DeliverySummary;
};

/** `GET /v1/reaches/{id}`: the result, or the status with what is known so far. */
export type ReachView = ReachResult | RunningView;

/** The 200 body of a completed reach. */
export function resultBody(
  reachId: string,
  memo: Pick<ReachMemo, 'message_id' | 'ability' | 'trace_id'>,
  end: { output: ReachOutput; replayed: boolean },
): ReachResult {
  const { output } = end;
  const { answer } = output.output;
  return {
    reach_id: reachId,
    message_id: memo.message_id,
    status: 'completed',
    ability: memo.ability,
    agent_name: output.agent_name,
    agent_version: output.agent_version,
    instance: output.instance,
    route_reason: output.route_reason,
    confidence: output.confidence,
    output: output.output,
    ...claimMembers(output.output_claim),
    ...(answer !== undefined && { answer }),
    degraded: output.degraded_by !== undefined,
    attempts: output.attempts.length,
    duration_ms: output.duration_ms,
    replayed: end.replayed,
    decision_id: output.decision_id,
    trace_id: memo.trace_id,
  };
}

/** The receipt of a reach that was found running. */
export function receiptOf(
  view: RunningView,
  { timeout_ms }: Pick<ReachMemo, 'timeout_ms'>,
  replayed: boolean,
): Receipt {
  const elapsedMs = new Date().getTime() - Date.parse(view.accepted_at);
  return {
    reach_id: view.reach_id,
    message_id: view.message_id,
    status: 'running',
    stage: view.stage,
    agent_name: view.agent_name,
    agent_version: view.agent_version,
    route_reason: view.route_reason,
    decision_id: view.decision_id,
    accepted_at: view.accepted_at,
    expires_in_ms: remainingMs(timeout_ms, elapsedMs),
    replayed,
    trace_id: view.trace_id,
    links: view.links,
  };
}

/** A problem with what is known of the decision, where it does not say so itself (cancelled, timed out, terminated). */
export function withDecision(
  problem: Problem,
  { agent_name, agent_version, route_reason, decision_id, trace_id }: ReachMemo,
): Problem {
  return { agent_name, agent_version, route_reason, decision_id, trace_id, ...problem };
}

/** Reads how a reach ended out of the cause of its WorkflowFailedError. */
export function endFromFailure(cause: unknown, reachId: string): Exclude<ReachEnd, { status: 'completed' }> {
  if (cause instanceof ApplicationFailure) {
    const failure = cause.details?.[0] as ReachFailure | undefined;
    if (failure?.problem) return { status: failure.status, problem: failure.problem, attempts: failure.attempts };
  }
  const [status, error] = describeEnd(cause);
  return { status, problem: error.with({ reach_id: reachId }).toProblem(), attempts: [] };
}

function describeEnd(cause: unknown): [Exclude<ReachEnd['status'], 'completed'>, ReachError] {
  if (cause instanceof CancelledFailure)
    return [
      'cancelled',
      new ReachError('reach_terminal', 'The reach was cancelled; send it again under a new idempotency key'),
    ];
  if (cause instanceof TimeoutFailure)
    return [
      'expired',
      new ReachError('deadline_exceeded', 'The time of the reach ended while no worker could finish it'),
    ];
  if (cause instanceof TerminatedFailure)
    return ['dead_lettered', new ReachError('internal', 'The run was terminated by an operator')];
  return ['dead_lettered', new ReachError('internal', 'The reach failed in a way that is not known', { cause })];
}

/** Status of a run from its Temporal status and, for failures, the `ReachStatus` attribute. */
export function statusOf(temporalStatus: string, reachStatus: string | undefined): ReachStatus {
  switch (temporalStatus) {
    case 'RUNNING':
    case 'PAUSED':
    case 'CONTINUED_AS_NEW':
      return 'running';
    case 'COMPLETED':
      return 'completed';
    case 'CANCELLED':
      return 'cancelled';
    case 'TIMED_OUT':
      return 'expired';
    default:
      return reachStatus === 'expired' || reachStatus === 'outcome_unknown' ? reachStatus : 'dead_lettered';
  }
}

/** The view of a reach that is still running, its attempts read from the pending activity's heartbeat. */
export function runningView(description: WorkflowExecutionDescription, memo: ReachMemo, links: ReachLinks): ReachView {
  return {
    ...memoView(description, memo, links),
    status: 'running',
    attempts: pendingAttempts(description),
  };
}

/** The view of a reach that ended without an answer. */
export function failedView(
  description: WorkflowExecutionDescription,
  memo: ReachMemo,
  { end, links }: { end: Exclude<ReachEnd, { status: 'completed' }>; links: ReachLinks },
): ReachView {
  return {
    ...memoView(description, memo, links),
    status: end.status,
    attempts: end.attempts.length > 0 ? end.attempts : (memo.attempts ?? []),
    error: withDecision(end.problem, memo),
    ...(description.closeTime && { ended_at: description.closeTime.toISOString() }),
  };
}

function memoView(description: WorkflowExecutionDescription, memo: ReachMemo, links: ReachLinks) {
  return {
    reach_id: description.workflowId,
    message_id: memo.message_id,
    stage: memo.stage ?? ('routed' as const),
    ability: memo.ability,
    agent_name: memo.agent_name,
    agent_version: memo.agent_version,
    route_reason: memo.route_reason,
    decision_id: memo.decision_id,
    accepted_at: description.startTime.toISOString(),
    replayed: false,
    trace_id: memo.trace_id,
    links,
  };
}

/** Attempts that a running activity has told of: all of them have failed. */
function pendingAttempts(description: WorkflowExecutionDescription): AttemptRecord[] {
  const pending = description.raw.pendingActivities ?? [];
  return pending.flatMap(({ heartbeatDetails }) => {
    const data = heartbeatDetails?.payloads?.[0]?.data;
    if (!data) return [];
    try {
      return (JSON.parse(Buffer.from(data).toString('utf8')) as { attempts?: AttemptRecord[] }).attempts ?? [];
    } catch {
      return [];
    }
  });
}

/** The attempt that a reach is at, as far as its record tells; 0 when it does not. */
export function currentAttempt(description: WorkflowExecutionDescription): number {
  const failed = pendingAttempts(description).map(({ n }) => n + 1);
  return Math.max(0, (description.memo as ReachMemo).accepted_attempt ?? 0, ...failed);
}
