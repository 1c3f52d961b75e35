/** The wait for an agent that only accepted: its result, its silence, or the end of the time (R5, R6). */
import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  proxyActivities,
  proxyLocalActivities,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { isTransient } from '../src/protocol/error-codes';
import { leftMs } from './clock';
import { failed } from './failures';
import type { InvokeFailure, InvokeOutcome, LateResult, ReachActivities } from './messages';
import { pushAgain } from './push';
import type { Run } from './run';
import { currentReachId, outOfTime, retryTerms } from './spending';

type Accepted = Extract<InvokeOutcome, { kind: 'accepted' }>;
type Ended = Exclude<InvokeOutcome, Accepted>;

/** How long a delivery that finds no slot stays away, ms, ±50 %. */
const SLOT_WAIT_MS = 1_000;

const { settle } = proxyLocalActivities<ReachActivities>({ startToCloseTimeout: '30s', retry: { maximumAttempts: 3 } });

/** Takes a late result up: the first for its attempt counts, the others stay in the history and nowhere else. */
export function keepLateResult(run: Run, result: LateResult): void {
  const known = run.late.some(({ run_id, attempt }) => run_id === result.run_id && attempt === result.attempt);
  if (!known) run.late.push(result);
}

/**
 * The result of the attempt that was accepted, matched by run and attempt. An agent that says nothing for its
 * `ack_timeout_ms`, or whose late answer is a passing failure, gets the message again with the same key, within the same
 * budgets as any other retry.
 */
export async function waitForResult(run: Run, accepted: Accepted): Promise<Ended> {
  let outcome: InvokeOutcome = accepted;
  while (outcome.kind === 'accepted') {
    const ended: Ended = await resultOf(run, outcome);
    if (ended.kind === 'answer' || !mayComeAgain(ended)) return ended;
    outcome = await redeliver(run, ended);
  }
  return outcome;
}

/** Not what has run out of time, nor what a result of 0.1 said, which was never delivered again. */
export function mayComeAgain({ problem }: InvokeFailure): boolean {
  return isTransient(problem.code) && patched('late-failures-come-again');
}

async function resultOf(run: Run, accepted: Accepted): Promise<Ended> {
  const attempt = run.spent.attempts.length;
  const { runId } = workflowInfo();
  const match = () => run.late.find((result) => result.run_id === runId && result.attempt === attempt);
  if (!match()) {
    upsertMemo({ stage: 'agent_accepted', accepted_attempt: attempt });
    const silent = await waitOrSilence(run, () => match() !== undefined);
    if (silent) return silence(run);
  }
  const result = match()?.result;
  if (!result)
    return outOfTime(failed('agent_timeout', 'The agent accepted the work and never delivered a result', 'yes'));
  if ('error' in result) return failed(result.error.code, result.error.message, 'yes');
  const { output, output_claim } = result;
  return { kind: 'answer', output, ...(output_claim && { output_claim }), instance: accepted.instance, attempts: [] };
}

/** True when the agent fell silent before `matched` held and before the time ended. */
async function waitOrSilence(run: Run, matched: () => boolean): Promise<boolean> {
  const left = Math.max(1, leftMs(run.input.envelope.timeout_ms));
  const { ack_timeout_ms: ackTimeoutMs } = run.routed.target;
  if (ackTimeoutMs === undefined || ackTimeoutMs >= left) {
    await condition(matched, left);
    return false;
  }
  const watch = new CancellationScope();
  const over = condition(matched, left).then(() => false);
  // A watch that has no time for another look, or broke down, tells nothing: the result may come until the time ends.
  const silent = watch
    .run(() => awaitSilence(run, { ackTimeoutMs, left }))
    .catch((caught: unknown) => {
      if (isCancellation(caught)) throw caught;
      return over;
    });
  const first = await Promise.race([over, silent]);
  if (!first) watch.cancel();
  await silent.catch(() => undefined);
  // What came while the silence was being told is no silence.
  return first && !matched();
}

async function awaitSilence(run: Run, { ackTimeoutMs, left }: { ackTimeoutMs: number; left: number }): Promise<true> {
  const { awaitSilence: watch } = proxyActivities<ReachActivities>({
    scheduleToCloseTimeout: left,
    startToCloseTimeout: '10s',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { initialInterval: '1s', backoffCoefficient: 1 },
    summary: `the agent accepted; silent for ${ackTimeoutMs} ms it gets the message again`,
  });
  const attempt = run.spent.attempts.length;
  await watch({ reach_id: currentReachId(), run_id: workflowInfo().runId, attempt, ack_timeout_ms: ackTimeoutMs });
  return true;
}

function silence(run: Run): InvokeFailure {
  const { ack_timeout_ms: ms } = run.routed.target;
  return failed('agent_timeout', `The agent accepted the work and then gave no sign for ${ms} ms`, 'yes');
}

/** Another delivery of the same message, when the one place that decides retries lets it. */
async function redeliver(run: Run, failure: InvokeFailure): Promise<InvokeOutcome> {
  const { input, routed, spent } = run;
  const last = spent.attempts.pop();
  // The attempt that was accepted turned out a failure: its record says so from now on.
  const attempts = last ? [{ ...last, code: failure.problem.code, message: failure.problem.detail }] : [];
  spent.attempts.push(...attempts);
  const retry = attemptsAtAgent(run);
  const decided = await decide(run, { failure: { ...failure, attempts }, retry });
  return pushAgain(input, routed, { failed: decided, spent, used: retry });
}

/**
 * What the agent has had so far, which numbers its next retry. Attempts that failed before it accepted count as well: it sees
 * one call and its `max_retry` more in all (R26), however often it accepts and falls silent in between.
 */
function attemptsAtAgent({ routed, spent }: Run): number {
  const { agent_name: name, agent_version: version } = routed.decision.chosen;
  return spent.attempts.filter(({ agent_name, agent_version }) => agent_name === name && agent_version === version)
    .length;
}

/**
 * An agent that is lost takes all that it had accepted with it, and none of that is a failing request: what finds no slot of the
 * concurrent retries waits for one, so that what was accepted is delivered. A late failure is like one that came at once.
 */
async function decide(run: Run, { failure, retry }: { failure: InvokeFailure; retry: number }): Promise<InvokeFailure> {
  const { input, routed, spent } = run;
  const { agent_name, agent_version, ability } = routed.decision.chosen;
  for (let outcome = failure; ; outcome = { ...failure, attempts: [] }) {
    const retrying = retryTerms(input, routed, { spent, retry, permit: null, attemptMs: routed.target.timeout_ms });
    const decided = await settle({ agent_name, agent_version, ability, outcome, retrying }).catch((caught: unknown) => {
      if (isCancellation(caught)) throw caught;
      // Decided by no activity: this reach keeps to its own limits.
      return failure;
    });
    const waitMs = Math.round(SLOT_WAIT_MS * (0.5 + Math.random()));
    if (decided.kind !== 'failed') return failure;
    if (!isSilence(failure) || !wantsSlot(decided) || waitMs >= leftMs(input.envelope.timeout_ms)) return decided;
    await sleep(waitMs);
  }
}

function isSilence({ problem }: InvokeFailure): boolean {
  return problem.code === 'agent_timeout';
}

function wantsSlot({ problem }: InvokeFailure): boolean {
  return problem.code === 'retry_budget_exhausted' && problem.details?.retry_suppressed === 'agent';
}
