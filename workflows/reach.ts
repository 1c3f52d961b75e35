import {
  isCancellation,
  patched,
  setHandler,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { mayRepeat } from '../src/policy/retry';
import { isTransient } from '../src/protocol/error-codes';
import { endChildren } from './children';
import { leftMs } from './clock';
import { asGivenUp, attemptsOfCancelled, reachFailure, terminalStatus } from './failures';
import { keepLateResult, mayComeAgain, waitForResult } from './late-results';
import {
  acceptedUpdate,
  resultSignal,
  type Acceptance,
  type InvokeFailure,
  type InvokeOutcome,
  type ReachInput,
  type ReachOutput,
} from './messages';
import { tellingItsEnd } from './notify';
import { pull } from './pull';
import { afterFastPath, confirmAndPush, fastPathFits, push, takeFastPath } from './push';
import { adopt, route } from './routing';
import { complete, type Run } from './run';
import { currentReachId, record, treeOf } from './spending';
import { fixedAnswer, standIn, staysWithAgent } from './stand-in';

/**
 * One reach: route, invoke, and, when the agent only accepted, wait for its result. Ends completed with the
 * result; or failed with the coded ApplicationFailure, which makes it a dead letter; or cancelled.
 */
export async function reach(input: ReachInput): Promise<ReachOutput> {
  return tellingItsEnd(input, untilItsEnd);
}

async function untilItsEnd(input: ReachInput): Promise<ReachOutput> {
  const run: Run = { input, routed: input.routed, spent: { attempts: [], retries: 0 }, tried: [], late: [] };
  setHandler(resultSignal, (result) => keepLateResult(run, result));
  setHandler(acceptedUpdate, () => acceptance(run));

  const fixed = input.routed.stand_in;
  if (fixed?.output) return complete(run, fixedAnswer(fixed.output), fixed.because);
  try {
    const outcome = await deliver(run);
    if (outcome.kind === 'answer') return complete(run, outcome, fixed?.because);
    return (await standIn(run, outcome, callToTheEnd)) ?? giveUp(run, outcome);
  } catch (caught) {
    if (isCancellation(caught)) {
      keepAttempts(run, caught);
      await endChildren(run);
    }
    throw caught;
  }
}

/** The close event of a cancelled run has no room for them. */
function keepAttempts({ spent }: Run, caught: unknown): void {
  const attempts = [...spent.attempts, ...attemptsOfCancelled(caught)];
  if (attempts.length > 0 && patched('attempts-of-cancelled')) upsertMemo({ attempts });
}

/** Agent after agent until one has the last word. */
async function deliver(run: Run): Promise<Exclude<InvokeOutcome, { kind: 'accepted' }>> {
  const { tried } = run;
  let outcome = await callFirst(run);
  for (;;) {
    if (outcome.kind === 'accepted') {
      outcome = await waitForResult(run, outcome);
      if (outcome.kind === 'failed' && !mayComeAgain(outcome)) return outcome;
    }
    if (outcome.kind === 'answer' || !mayMoveOn(run, outcome)) return outcome;
    const { agent_name, agent_version } = run.routed.decision.chosen;
    tried.push(`${agent_name}#${agent_version}`);
    // Whoever was turned away was not called, so calling the next is no retry.
    const isRetry = !isTurnedAway(outcome);
    const moving = isRetry ? { reach_id: currentReachId(), tree: treeOf(run.input) } : undefined;
    // The failure of the agent that was called says more than "nobody else is left".
    if (await route(run, tried, { moving })) return outcome;
    if (isRetry) run.spent.retries += 1;
    outcome = await callAgent(run);
  }
}

/** Calls the first agent. Where the platform's worker makes the call, it confirms the gateway's decision in the same step. */
async function callFirst(run: Run): Promise<InvokeOutcome> {
  const { input, routed, spent } = run;
  if (routed.ready && fastPathFits(input, routed)) {
    const { routed: anew, outcome, ticket } = await takeFastPath(input);
    spent.ticket = ticket;
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

async function callToTheEnd(run: Run): Promise<Exclude<InvokeOutcome, { kind: 'accepted' }>> {
  const outcome = await callAgent(run);
  return outcome.kind === 'accepted' ? waitForResult(run, outcome) : outcome;
}

function callAgent({ input, routed, spent }: Run): Promise<InvokeOutcome> {
  return routed.target.protocol === 'worker' ? pull(input, routed, spent) : push(input, routed, spent);
}

function mayMoveOn(run: Run, failure: InvokeFailure): boolean {
  return anotherMayTry(run, failure) && !staysWithAgent(run);
}

function anotherMayTry({ input, routed, spent }: Run, failure: InvokeFailure): boolean {
  const { envelope } = input;
  const timeLeft = leftMs(envelope.timeout_ms) > 1;
  if (isTurnedAway(failure)) return timeLeft;
  const terms = { semantics: envelope.delivery_semantics, idempotent: routed.target.idempotent };
  const budgetLeft = spent.retries < envelope.max_total_retries && timeLeft;
  const called = spent.attempts.length > 0;
  const worthIt = isTransient(failure.problem.code) || isHeldBack(failure);
  return called && worthIt && mayRepeat(failure.received, terms) && budgetLeft;
}

/** A breaker or a bulkhead refused before the agent was called even once. */
function isTurnedAway(failure: InvokeFailure): boolean {
  return isHeldBack(failure) && failure.attempts.length === 0;
}

/** A breaker or a bulkhead refused the last attempt, or the first: another agent's need not. */
function isHeldBack({ problem: { code } }: InvokeFailure): boolean {
  return code === 'circuit_open' || code === 'overloaded';
}

function giveUp(run: Run, last: InvokeFailure): never {
  const failure = asGivenUp(last);
  const { chosen, route_reason, decision_id } = run.routed.decision;
  const terms = { semantics: run.input.envelope.delivery_semantics, idempotent: run.routed.target.idempotent };
  const status = terminalStatus(failure, mayRepeat(failure.received, terms));
  upsertSearchAttributes({ ReachStatus: [status] });
  const problem = {
    ...failure.problem,
    ...behind(run, failure),
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

/** What was refused in the end, unsent, has a real failure behind it where an agent was called before (T04). */
function behind({ spent }: Run, failure: InvokeFailure): Pick<InvokeFailure['problem'], 'last_error'> {
  const last = spent.attempts.at(-1);
  if (!isHeldBack(failure) || failure.problem.last_error || last?.code === undefined) return {};
  return { last_error: { code: last.code, message: last.message ?? '' } };
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
