import { ActivityCancellationType, proxyActivities, proxyLocalActivities, sleep, uuid4 } from '@temporalio/workflow';
import { attemptBudgetMs } from '../src/policy/deadline-budget';
import { agentCall } from '../src/protocol/agent-call';
import { AGENT_ACTIVITY, type WorkerAnswer, type WorkerCall } from '../src/protocol/worker-wire';
import { leftMs, nowIso } from './clock';
import { failureOf } from './failures';
import type { InvokeInput, InvokeOutcome, ReachActivities, ReachInput, Routed } from './messages';
import { HEARTBEAT_TIMEOUT_MS } from './push';
import { currentReachId, invokeInput, outOfTime, record, summaryOf, verdict, type Spent } from './spending';

type AgentWorker = Record<typeof AGENT_ACTIVITY, (call: WorkerCall) => Promise<WorkerAnswer>>;

const { settle } = proxyLocalActivities<ReachActivities>({ startToCloseTimeout: '5s', retry: { maximumAttempts: 3 } });

/**
 * Calls an agent that pulls from its own task queue. Its attempts are looped here, one activity each: a
 * schedule-to-start timeout is never retried by the server, and start-to-close cannot shrink with what is left.
 */
export async function pull(input: ReachInput, routed: Routed, spent: Spent): Promise<InvokeOutcome> {
  for (let retry = 1; ; retry += 1) {
    const call = invokeInput(input, routed, spent);
    const budgetMs = attemptBudgetMs(call.share_ms, call.timeout_ms);
    if (budgetMs < 1) return outOfTime(null);
    const { agent_name, agent_version, ability } = call;
    const raw = await attempt(input, routed, { call, budgetMs });
    const outcome = await settle({ agent_name, agent_version, ability, outcome: raw });
    record(spent, outcome);
    if (outcome.kind !== 'failed') return outcome;
    const next = verdict(input, routed, { failure: outcome, spent, retry });
    if (!next.retry) return next.because === 'no_time' ? outOfTime(outcome) : outcome;
    await sleep(next.delayMs);
    spent.retries += 1;
  }
}

async function attempt(
  input: ReachInput,
  routed: Routed,
  { call, budgetMs }: { call: InvokeInput; budgetMs: number },
): Promise<InvokeOutcome> {
  const startedAt = nowIso();
  const leftBefore = leftMs(input.envelope.timeout_ms);
  const answer = await schedule(routed, call, budgetMs).then(
    ({ output, instance }): InvokeOutcome => ({ kind: 'answer', output, instance, attempts: [] }),
    (caught: unknown) => failureOf(caught, 'agent'),
  );
  const failure = answer.kind === 'failed' ? answer : null;
  const made = {
    n: call.attempts_before + 1,
    agent_name: call.agent_name,
    agent_version: call.agent_version,
    instance: answer.instance ?? null,
    started_at: startedAt,
    duration_ms: leftBefore - leftMs(input.envelope.timeout_ms),
    received: failure?.received ?? ('yes' as const),
    ...(failure && { code: failure.problem.code, message: failure.problem.detail }),
  };
  return { ...answer, attempts: [made] };
}

function schedule(routed: Routed, call: InvokeInput, budgetMs: number): Promise<WorkerAnswer> {
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
    ...agentCall({ ...parts, attempt: call.attempts_before + 1, deadlineMs: budgetMs }),
    traceparent: `00-${call.trace_id}-${spanId}-01`,
  });
}
