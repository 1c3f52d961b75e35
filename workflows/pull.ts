import {
  ActivityCancellationType,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  sleep,
  uuid4,
} from '@temporalio/workflow';
import { attemptBudgetMs } from '../src/policy/deadline-budget';
import { agentCall } from '../src/protocol/agent-call';
import type { AttemptRecord } from '../src/protocol/shapes';
import { AGENT_ACTIVITY, type WorkerAnswer, type WorkerCall } from '../src/protocol/worker-wire';
import { leftMs, nowIso, runStartMs } from './clock';
import { failureOf } from './failures';
import type { InvokeInput, InvokeOutcome, ReachActivities, ReachInput, Routed } from './messages';
import { HEARTBEAT_TIMEOUT_MS } from './push';
import {
  currentReachId,
  decidedHere,
  invokeInput,
  nextOf,
  outOfTime,
  record,
  retryTerms,
  summaryOf,
  type Spent,
} from './spending';

/** A cancelled reach shows the attempt that it stopped; whether a worker had taken it nobody says. */
const STOPPED = {
  instance: null,
  received: 'unknown',
  code: 'reach_terminal',
  message: 'The reach was cancelled during the attempt',
} as const;

type AgentWorker = Record<typeof AGENT_ACTIVITY, (call: WorkerCall) => Promise<WorkerAnswer>>;

const { settle } = proxyLocalActivities<ReachActivities>({ startToCloseTimeout: '30s', retry: { maximumAttempts: 3 } });

/**
 * Calls an agent that pulls from its own task queue. Its attempts are looped here, one activity each: a
 * schedule-to-start timeout is never retried by the server, and start-to-close cannot shrink with what is left.
 */
export async function pull(input: ReachInput, routed: Routed, spent: Spent): Promise<InvokeOutcome> {
  let permit: number | null = null;
  for (let retry = 1; ; retry += 1) {
    const call = invokeInput(input, routed, spent);
    const budgetMs = attemptBudgetMs(call.share_ms, call.timeout_ms);
    if (budgetMs < 1) return outOfTime(null);
    const { agent_name, agent_version, ability } = call;
    const raw = await attempt(input, routed, { call, budgetMs, spent });
    const retrying = retryTerms(input, routed, {
      ...{ spent, retry, permit },
      attemptMs: budgetMs,
      failedAttempt: spent.attempts.length + 1,
    });
    const { ticket } = spent;
    const outcome = await settle({
      agent_name,
      agent_version,
      ability,
      outcome: raw,
      retrying,
      ...(ticket && { ticket }),
    });
    record(spent, asRecorded(outcome));
    if (outcome.kind !== 'failed') return outcome;
    const next = nextOf(outcome) ?? decidedHere(input, routed, { failure: outcome, spent, retry });
    if (!next.retry) return next.failure;
    permit = next.permit;
    if (next.ticket) spent.ticket = next.ticket;
    await sleep(next.delayMs);
    spent.retries += 1;
  }
}

async function attempt(
  input: ReachInput,
  routed: Routed,
  { call, budgetMs, spent }: { call: InvokeInput; budgetMs: number; spent: Spent },
): Promise<InvokeOutcome> {
  const startedAt = nowIso();
  const leftBefore = leftMs(input.envelope.timeout_ms);
  const made = (more: Pick<AttemptRecord, 'instance' | 'received'> & Partial<AttemptRecord>): AttemptRecord => ({
    n: call.attempts_before + 1,
    agent_name: call.agent_name,
    agent_version: call.agent_version,
    started_at: startedAt,
    duration_ms: leftBefore - leftMs(input.envelope.timeout_ms),
    ...more,
  });
  const bypass = (spent.ticket ? spent.ticket.mark : (routed.decision.chosen.admission ?? null)) !== null;
  const answer = await schedule(routed, call, { budgetMs, bypass }).then(
    ({ output, output_ref, instance }): InvokeOutcome => ({
      kind: 'answer',
      output,
      ...(output_ref && { output_claim: { ref: output_ref } }),
      instance,
      attempts: [],
    }),
    (caught: unknown) => {
      if (isCancellation(caught)) spent.attempts.push(made(STOPPED));
      return failureOf(caught, 'agent');
    },
  );
  const failure = answer.kind === 'failed' ? answer : null;
  const record = made({
    instance: answer.instance ?? null,
    received: failure?.received ?? 'yes',
    ...(failure && { code: failure.problem.code, message: failure.problem.detail }),
  });
  return { ...answer, attempts: [record] };
}

/** Statistics and breaker count a lost worker as the agent's failure; the record tells it from a refusal. */
function asRecorded(outcome: InvokeOutcome): InvokeOutcome {
  if (outcome.kind !== 'failed' || !outcome.lost) return outcome;
  return { ...outcome, attempts: outcome.attempts.map((attempt) => ({ ...attempt, code: 'worker_lost' })) };
}

function schedule(
  routed: Routed,
  call: InvokeInput,
  { budgetMs, bypass }: { budgetMs: number; bypass: boolean },
): Promise<WorkerAnswer> {
  const agent = proxyActivities<AgentWorker>({
    taskQueue: routed.target.task_queue ?? '',
    // Half of the attempt may pass in the queue: a dead worker must not eat the time of the next agent.
    scheduleToStartTimeout: Math.ceil(budgetMs / 2),
    startToCloseTimeout: budgetMs,
    scheduleToCloseTimeout: budgetMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: 1 },
    summary: summaryOf(routed),
  });
  const parts = {
    envelope: call.envelope,
    reachId: currentReachId(),
    ability: call.ability,
    agentVersion: call.agent_version,
  };
  const spanId = uuid4().replace(/-/g, '').slice(0, 16);
  return agent[AGENT_ACTIVITY]({
    ...agentCall({
      ...parts,
      attempt: call.attempts_before + 1,
      runStartMs: runStartMs(),
      deadlineMs: budgetMs,
      bypass,
    }),
    // A large payload is fetched by the agent; one that cannot is to refuse the call, not to work on an empty one.
    ...(call.envelope.payload_ref !== undefined && { payload: undefined }),
    traceparent: `00-${call.trace_id}-${spanId}-01`,
  });
}
