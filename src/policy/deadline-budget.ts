/**
 * The deadline budget (R25): how much of a reach's time is left and how much of it one attempt may use.
 * Pure arithmetic on milliseconds; whoever calls brings the clock.
 */

/** What is left of `totalMs` after `elapsedMs`. Never negative; a clock that ran backwards counts as no time passed. */
export function remainingMs(totalMs: number, elapsedMs: number): number {
  return Math.max(0, totalMs - Math.max(0, elapsedMs));
}

/**
 * What one attempt may use: half of what remains when the agent is called (the rest is for returning and
 * for another try), and no more than the agent's own timeout. 0 means that the work must not be sent.
 */
export function attemptBudgetMs(leftMs: number, ownTimeoutMs: number): number {
  return Math.max(0, Math.min(Math.floor(leftMs / 2), ownTimeoutMs));
}
