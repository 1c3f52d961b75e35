import {
  condition,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { mayRepeat } from '../src/policy/retry';
import { isTransient } from '../src/protocol/error-codes';
import { elapsedMs, leftMs } from './clock';
import { failed, failureOf, ranOutOfTime, reachFailure, terminalStatus } from './failures';
import {
  acceptedUpdate,
  resultSignal,
  type Acceptance,
  type InvokeFailure,
  type InvokeOutcome,
  type LateResult,
  type ReachActivities,
  type ReachInput,
  type ReachOutput,
  type Routed,
} from './messages';
import { pull } from './pull';
import { afterFastPath, confirmAndPush, fastPathFits, push, takeFastPath } from './push';
import { outOfTime, record, type Spent } from './spending';

/** What a reach remembers while it runs. */
interface Run {
  input: ReachInput;
  routed: Routed;
  spent: Spent;
  late: LateResult[];
}

/**
 * One reach: route, invoke, and, when the agent only accepted, wait for its result. Ends completed with the
 * result; or failed with the coded ApplicationFailure, which makes it a dead letter; or cancelled.
 */
export async function reach(input: ReachInput): Promise<ReachOutput> {
  const run: Run = { input, routed: input.routed, spent: { attempts: [], retries: 0 }, late: [] };
  setHandler(resultSignal, (result) => void run.late.push(result));
  setHandler(acceptedUpdate, () => acceptance(run));

  const outcome = await deliver(run);
  return outcome.kind === 'failed' ? giveUp(run, outcome) : complete(run, outcome);
}

/** Agent after agent until one has the last word. */
async function deliver(run: Run): Promise<Exclude<InvokeOutcome, { kind: 'accepted' }>> {
  const tried: string[] = [];
  let outcome = await callFirst(run);
  for (;;) {
    if (outcome.kind === 'accepted') return waitForResult(run, outcome);
    if (outcome.kind === 'answer' || !mayMoveOn(run, outcome)) return outcome;
    const { agent_name, agent_version } = run.routed.decision.chosen;
    tried.push(`${agent_name}#${agent_version}`);
    // The failure of the agent that was called says more than "nobody else is left".
    if (await route(run, tried)) return outcome;
    run.spent.retries += 1;
    outcome = await callAgent(run);
  }
}

/** Calls the first agent. Where the platform's worker makes the call, it confirms the gateway's decision in the same step. */
async function callFirst(run: Run): Promise<InvokeOutcome> {
  const { input, routed, spent } = run;
  if (routed.ready && fastPathFits(input, routed)) {
    const { routed: anew, outcome } = await takeFastPath(input);
    if (anew) adopt(run, anew);
    // Newly chosen, but it does not fit the fast path, or is not ready and must be waited for.
    if (!outcome) return run.routed.ready ? callAgent(run) : ((await route(run, [])) ?? callAgent(run));
    record(spent, outcome);
    return outcome.kind === 'failed' ? afterFastPath(input, run.routed, { first: outcome, spent }) : outcome;
  }
  const confirmed =
    routed.ready && routed.target.protocol !== 'worker' ? await confirmAndPush(input, routed, spent) : null;
  return confirmed ?? (await route(run, [])) ?? callAgent(run);
}

/** Confirms the gateway's decision, or decides anew when agents were tried in vain. Returns why nobody fits, else null. */
async function route(run: Run, exclude: string[]): Promise<InvokeFailure | null> {
  const { route: decide } = proxyLocalActivities<ReachActivities>({
    startToCloseTimeout: '5s',
    retry: { maximumAttempts: 3 },
  });
  const { tenant, envelope, routed } = run.input;
  const proposed = exclude.length === 0 ? routed : null;
  try {
    const answer = await decide({ tenant, envelope, proposed, exclude });
    if (!answer.stands) adopt(run, answer.routed);
    if (!run.routed.ready) adopt(run, await awaitReady(run, exclude));
    return null;
  } catch (caught) {
    const failure = failureOf(caught);
    return ranOutOfTime(caught) ? outOfTime(failure) : failure;
  }
}

/** An async reach to a known ability waits for an agent; the activity is retried by the server without new events. */
function awaitReady(run: Run, exclude: string[]): Promise<Routed> {
  const { tenant, envelope } = run.input;
  const { awaitReady: ready } = proxyActivities<ReachActivities>({
    startToCloseTimeout: '10s',
    scheduleToCloseTimeout: Math.max(1, leftMs(envelope.timeout_ms)),
    retry: { initialInterval: '1s', backoffCoefficient: 1.5, maximumInterval: '5s' },
    summary: 'waiting for an agent to be ready',
  });
  return ready({ tenant, envelope, proposed: null, exclude });
}

/** A new decision: what lists and the Web UI show follows it. */
function adopt(run: Run, routed: Routed): void {
  const before = run.routed.decision.chosen;
  run.routed = routed;
  const { chosen, decision_id, route_reason } = routed.decision;
  if (chosen.agent_name === before.agent_name && chosen.agent_version === before.agent_version) return;
  upsertSearchAttributes({ ReachAgent: [chosen.agent_name], ReachVersion: [chosen.agent_version] });
  upsertMemo({ decision_id, route_reason, agent_name: chosen.agent_name, agent_version: chosen.agent_version });
}

function callAgent({ input, routed, spent }: Run): Promise<InvokeOutcome> {
  return routed.target.protocol === 'worker' ? pull(input, routed, spent) : push(input, routed, spent);
}

function mayMoveOn({ input, routed, spent }: Run, failure: InvokeFailure): boolean {
  const { envelope } = input;
  const terms = { semantics: envelope.delivery_semantics, idempotent: routed.target.idempotent };
  const budgetLeft = spent.retries < envelope.max_total_retries && leftMs(envelope.timeout_ms) > 1;
  const called = spent.attempts.length > 0;
  return called && isTransient(failure.problem.code) && mayRepeat(failure.received, terms) && budgetLeft;
}

/** The agent accepted; its result arrives as a signal that names this run and this attempt, or the time ends. */
async function waitForResult(
  run: Run,
  accepted: Extract<InvokeOutcome, { kind: 'accepted' }>,
): Promise<Exclude<InvokeOutcome, { kind: 'accepted' }>> {
  const attempt = run.spent.attempts.length;
  const { runId } = workflowInfo();
  const match = () => run.late.find((result) => result.run_id === runId && result.attempt === attempt);
  if (!match()) {
    upsertMemo({ stage: 'agent_accepted' });
    await condition(() => match() !== undefined, Math.max(1, leftMs(run.input.envelope.timeout_ms)));
  }
  const result = match()?.result;
  if (!result)
    return outOfTime(failed('agent_timeout', 'The agent accepted the work and never delivered a result', 'yes'));
  if ('error' in result) return failed(result.error.code, result.error.message, 'yes');
  return { kind: 'answer', output: result.output, instance: accepted.instance, attempts: [] };
}

function complete(run: Run, answer: Extract<InvokeOutcome, { kind: 'answer' }>): ReachOutput {
  const { chosen, route_reason, confidence, decision_id } = run.routed.decision;
  return {
    status: 'completed',
    agent_name: chosen.agent_name,
    agent_version: chosen.agent_version,
    instance: answer.instance,
    route_reason,
    confidence,
    decision_id,
    output: answer.output,
    attempts: run.spent.attempts,
    duration_ms: elapsedMs(),
  };
}

function giveUp(run: Run, failure: InvokeFailure): never {
  const { chosen, route_reason, decision_id } = run.routed.decision;
  const terms = { semantics: run.input.envelope.delivery_semantics, idempotent: run.routed.target.idempotent };
  const status = terminalStatus(failure, mayRepeat(failure.received, terms));
  upsertSearchAttributes({ ReachStatus: [status] });
  const problem = {
    ...failure.problem,
    // The work may have been done: sending it again, under whatever key, might do it twice.
    ...(status === 'outcome_unknown' && { retryable: false }),
    reach_status: status,
    reach_id: workflowInfo().workflowId,
    agent_name: chosen.agent_name,
    agent_version: chosen.agent_version,
    route_reason,
    decision_id,
    trace_id: run.input.trace_id,
    attempts: run.spent.attempts,
  };
  throw reachFailure({ status, problem, attempts: run.spent.attempts });
}

function acceptance({ routed: { decision }, input }: Run): Acceptance {
  return {
    stage: 'routed',
    agent_name: decision.chosen.agent_name,
    agent_version: decision.chosen.agent_version,
    route_reason: decision.route_reason,
    decision_id: decision.decision_id,
    fingerprint: input.fingerprint,
    request_id: input.routed.decision.decision_id,
  };
}
