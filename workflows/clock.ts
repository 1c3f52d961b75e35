import { workflowInfo } from '@temporalio/workflow';
import { remainingMs } from '../src/policy/deadline-budget';

/**
 * Elapsed time of this run, ms. Workflow time, so a replay sees the same; measured from `runStartTime`, which
 * is new after a reset, so that a redriven reach has a fresh budget (`startTime` would be the first run's).
 */
export function elapsedMs(): number {
  // In the workflow sandbox Date is replaced by deterministic workflow time.
  // eslint-disable-next-line no-restricted-syntax
  return Math.max(0, Date.now() - workflowInfo().runStartTime.getTime());
}

/** What is left of the reach's budget, ms; never negative. */
export function leftMs(timeoutMs: number): number {
  return remainingMs(timeoutMs, elapsedMs());
}

/** The current workflow time as ISO 8601. */
export function nowIso(): string {
  return new Date().toISOString();
}

/** When this run began, Unix ms on the server's clock; later for every run of the same reach. */
export function runStartMs(): number {
  return workflowInfo().runStartTime.getTime();
}
