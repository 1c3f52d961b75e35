import { disorderedFences, falseRecords, forbiddenRepeats, surplusAttempts, unrecordedAttempts } from './attempts';
import { silentChannels, unmarkedFallbacks } from './channels';
import { differingEnds, lostReceipts, misfiledDeadLetters } from './ends';
import type { Recording, Violation } from './facts';
import { changedKeys, changedPayloads, sharedKeys, surplusRuns, untrueRepeats } from './identity';
import { indexOf, type Index } from './index-of';
import { exceededLimits } from './limits';
import { unfoundedResults } from './results';

const CHECKS: readonly ((index: Index) => Violation[])[] = [
  lostReceipts,
  silentChannels,
  differingEnds,
  unmarkedFallbacks,
  misfiledDeadLetters,
  sharedKeys,
  surplusRuns,
  changedKeys,
  changedPayloads,
  untrueRepeats,
  unrecordedAttempts,
  falseRecords,
  forbiddenRepeats,
  surplusAttempts,
  disorderedFences,
  unfoundedResults,
  exceededLimits,
];

/**
 * Reconciles the four sets and returns every promise that was broken, none when all were kept. Pure: the same
 * recording gives the same answer, so that a recording kept from a failed run can be judged again.
 */
export function reconcile(recording: Recording): Violation[] {
  const index = indexOf(recording);
  return CHECKS.flatMap((check) => check(index));
}

/** A violation for people. */
export function describeViolation({ rule, reach_id, message }: Violation): string {
  return `${rule}${reach_id ? ` ${reach_id}` : ''}: ${message}`;
}
