import type { ReachStatus, TerminalStatus } from '../protocol/shapes';
import { ReachError } from '../protocol/reach-error';
import { AttemptTimeout } from './retry';
import { type Budget, sleep } from './time';
import type { ReachResult, ReachView } from './wire-types';

/** Longest the client asks the gateway to hold one poll, s; below the idle timeouts of common proxies. */
const POLL_SEC = 20;
/** A poll that comes back sooner than this without an end was not held: pause before the next, ms. */
const HELD_MS = 250;
const PAUSE_MS = 500;
/** Timers are not exact: so close to its end a budget counts as used up, ms. */
const CUT_MS = 50;

/** True when a reach in this status is over. */
export function isTerminal(status: ReachStatus): status is TerminalStatus {
  return status !== 'accepted' && status !== 'running';
}

/** How {@link pollUntilEnd} asks and waits. */
export interface PollOptions {
  /** One long poll: asks the gateway to hold it for `waitSec`. */
  poll(waitSec: number, remainingMs: number): Promise<ReachView>;
  budget: Budget;
  signal?: AbortSignal;
}

/** Polls until the reach is over; null when the budget ends first. */
export async function pollUntilEnd({ poll, budget, signal }: PollOptions): Promise<ReachView | null> {
  while (budget.remainingMs > 0) {
    const before = budget.remainingMs;
    const view = await poll(Math.max(1, Math.min(POLL_SEC, Math.ceil(before / 1000))), before).catch(
      (caught: unknown) => {
        if (endedWithBudget(caught, budget)) return null;
        throw caught;
      },
    );
    if (view === null || isTerminal(view.status)) return view;
    if (before - budget.remainingMs < HELD_MS) await sleep(Math.min(PAUSE_MS, budget.remainingMs), signal);
  }
  return null;
}

/** True when an exchange was cut because nothing was left to wait: an end of the waiting, not a fault of the gateway. */
function endedWithBudget(caught: unknown, budget: Budget): boolean {
  return budget.remainingMs < CUT_MS && caught instanceof ReachError && caught.options.cause instanceof AttemptTimeout;
}

/** The result of a finished reach; throws the error it ended with. */
export function resultOf<T>(view: ReachView): ReachResult<T> {
  if (view.status === 'completed') return view as ReachResult<unknown> as ReachResult<T>;
  const { reach_id, trace_id, decision_id, agent_name, route_reason } = view;
  const known = { reach_id, trace_id, decision_id, agent_name, route_reason };
  if (view.error) throw ReachError.fromProblem({ ...known, ...view.error });
  const text = view.status === 'outcome_unknown' ? 'may or may not have been executed' : `is ${view.status}`;
  throw new ReachError('reach_terminal', `Reach ${reach_id} ${text}; its trace tells more`, { extra: known });
}
