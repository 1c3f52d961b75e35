import { nextAttempt } from '../src/policy/retry';
import { MAX_TIMEOUT_MS } from '../src/protocol/limits';
import type { TreeBudget } from '../src/protocol/lineage';
import { ReachError } from '../src/protocol/reach-error';
import type { BreakerTicket } from '../src/protocol/reliability';
import type { InvokeFailure, RetryTerms } from '../workflows/messages';
import type { ActivityDependencies } from './dependencies';

/** What a retry's slot is held for beyond its wait and its attempt: the ways between server, worker and etcd, ms. */
const PERMIT_SLACK_MS = 5_000;
/**
 * Who waits longer than this takes a slot when it wakes, ms. An agent that says `Retry-After: 10800` and is back after five
 * minutes would else have all its slots asleep for three hours, and every other reach that meets a passing error given up.
 */
export const MAX_HELD_WAIT_MS = 30_000;

/** A failed attempt and what another one depends on. */
export interface FailedCall {
  agentName: string;
  error: ReachError;
  terms: RetryTerms;
}

/**
 * Another attempt after `delayMs`, holding the slot `permit`, null when it is to be taken afterwards; or the error with which the
 * agent is given up.
 */
export type RetryDecision =
  { retry: true; delayMs: number; permit: number | null; ticket?: BreakerTicket } | { retry: false; error: ReachError };

/**
 * The one place where a retry is decided (R26, R27): by class, promise, budget and time; then by the slots of
 * concurrent retries of the agent, which count from here, so those that wait in backoff hold one too, unless they wait for
 * longer than {@link MAX_HELD_WAIT_MS}. A slot held by the failed attempt goes over to the next or is given back.
 */
export async function decideRetry(deps: ActivityDependencies, call: FailedCall): Promise<RetryDecision> {
  const { agentName, error, terms } = call;
  const { semantics, idempotent, retries_left: retriesLeft, left_ms: leftMs } = terms;
  const verdict = nextAttempt(
    { code: error.code, received: error.options.received ?? 'no', retryAfterMs: error.options.retryAfterMs },
    { semantics, idempotent, retriesLeft, leftMs },
    terms.retry,
    deps.random,
  );
  if (!verdict.retry) {
    releasePermit(deps, agentName, terms);
    return { retry: false, error: verdict.because === 'no_time' ? outOfTime(error) : error };
  }
  if (!(await treeAllows(deps, call))) {
    releasePermit(deps, agentName, terms);
    return { retry: false, error: suppressed(error, 'tree', treeExhausted(terms.tree)) };
  }
  const { delayMs } = verdict;
  if (delayMs > MAX_HELD_WAIT_MS) {
    releasePermit(deps, agentName, terms);
    return { retry: true, delayMs, permit: null };
  }
  const permit = await takePermit(deps, agentName, { terms, waitMs: delayMs });
  return permit === null ? { retry: false, error: noSlot(agentName, error) } : { retry: true, delayMs, permit };
}

/** The end of a retry that found no slot among those of the agent (R27). */
export function noSlot(agentName: string, last: ReachError): ReachError {
  return suppressed(last, 'agent', `${agentName} has as many retries under way as it may have`);
}

/** Gives a slot back when the retry that held it is over; what cannot be given back frees itself when its lease ends. */
export function releasePermit(
  deps: ActivityDependencies,
  agentName: string,
  { reach_id: holder, permit: slot }: Pick<RetryTerms, 'reach_id' | 'permit'>,
): void {
  if (slot !== null) deps.retryPermits.release({ agentName, slot, holder }).catch(() => undefined);
}

/** Keeps or takes a slot for a retry that is due in `waitMs`; null when all of the agent's are out. */
export async function takePermit(
  deps: ActivityDependencies,
  agentName: string,
  { terms, waitMs }: { terms: Pick<RetryTerms, 'permit' | 'reach_id' | 'attempt_ms'>; waitMs: number },
): Promise<number | null> {
  const { permit: slot, reach_id: holder } = terms;
  const ttlMs = waitMs + terms.attempt_ms + PERMIT_SLACK_MS;
  const taken =
    slot === null
      ? await deps.retryPermits.acquire({ agentName, holder, ttlMs })
      : await deps.retryPermits.renew({ agentName, slot, holder, ttlMs });
  return taken?.slot ?? null;
}

/** A failure that there is no time to repeat, with the real error behind it (T04). */
function outOfTime(last: ReachError): ReachError {
  return new ReachError(
    'deadline_exceeded',
    `The time left does not allow another attempt; the last one failed with ${last.code}: ${last.message}`,
    { received: last.options.received, extra: { last_error: { code: last.code, message: last.message } } },
  );
}

/** All reaches of a tree share `max_total_retries` of the first (R27). */
async function treeAllows(deps: ActivityDependencies, { terms }: FailedCall): Promise<boolean> {
  const { tree, reach_id, failed_attempt, left_ms: leftMs } = terms;
  if (!tree) return true;
  return deps.tree.takeRetry({ tree, id: [reach_id, `after-${failed_attempt}`], ttlMs: treeLeftMs(tree, leftMs) });
}

/**
 * How long a retry counts against its tree, ms: to the tree's end, which may be long after that of the reach that makes it. Our
 * clock against the server's: leases have an hour to spare.
 *
 * @param leftMs what is left of the reach itself: all that is known of a tree from an earlier release
 */
export function treeLeftMs({ ends_ms: endsMs }: TreeBudget, leftMs: number): number {
  return Math.max(leftMs, Math.min(MAX_TIMEOUT_MS, (endsMs ?? 0) - new Date().getTime()));
}

/** Why a tree gets no further retry, for people. */
export function treeExhausted(tree: TreeBudget | undefined): string {
  return `The reaches of this tree have made the ${tree?.limit ?? 0} retries that max_total_retries of the first allows them together`;
}

function suppressed(last: ReachError, by: 'agent' | 'tree', why: string): ReachError {
  return new ReachError(
    'retry_budget_exhausted',
    `${why}, so this one was not made; the last attempt failed with ${last.code}: ${last.message}`,
    {
      received: last.options.received,
      retryAfterMs: 1_000,
      extra: {
        last_error: { code: last.code, message: last.message },
        details: { retry_suppressed: by },
      },
    },
  );
}

/** Whether a retry was refused for a slot of the agent's, which comes free again; a tree's budget does not. */
export function waitsForSlot({ code, options }: ReachError): boolean {
  const details = options.extra?.details as { retry_suppressed?: string } | undefined;
  return code === 'retry_budget_exhausted' && details?.retry_suppressed === 'agent';
}

/** A failure as the workflow reads it, with what comes next. */
export function withDecision(failure: InvokeFailure, decision: RetryDecision): InvokeFailure {
  if (decision.retry) {
    const { delayMs, permit, ticket } = decision;
    return { ...failure, next: { delay_ms: delayMs, permit, ...(ticket && { ticket }) } };
  }
  const received = decision.error.options.received ?? failure.received;
  return { ...failure, problem: decision.error.toProblem(), received, next: null };
}
