/** I1: every receipt reaches exactly one terminal status, the same on every channel, and nothing is lost. */
import type { ReachStatus } from '../../../src/protocol/shapes';
import type { Run, Sighting, Violation } from './facts';
import type { Index } from './index-of';

const RUNNING: ReadonlySet<ReachStatus> = new Set<ReachStatus>(['accepted', 'running']);

/** Whether a run is over. */
export function hasEnded(run: Pick<Run, 'status'> | undefined): boolean {
  return run !== undefined && !RUNNING.has(run.status);
}

/** Receipts without a durable run, or whose run never ended. */
export function lostReceipts({ recording, lastRun }: Index): Violation[] {
  const promised = [...new Set(recording.receipts.map(({ reach_id }) => reach_id))];
  return promised.flatMap((reach_id): Violation[] => {
    const run = lastRun(reach_id);
    if (!run) {
      return [{ rule: 'receipt_lost', reach_id, message: 'a caller holds a receipt, and Temporal has no such run' }];
    }
    if (hasEnded(run)) return [];
    return [
      { rule: 'not_ended', reach_id, message: `run ${run.run_id} is still ${run.status} after everything ended` },
    ];
  });
}

/** Channels that tell different ends of one reach, or ends that no run had. */
export function differingEnds(index: Index): Violation[] {
  return index.recording.sightings.flatMap((seen) => statusDiffers(index, seen) ?? resultDiffers(index, seen) ?? []);
}

function statusDiffers({ runsOf }: Index, { reach_id, channel, status, settled }: Sighting): Violation | null {
  const ends = runsOf(reach_id).map((run) => run.status);
  const allowed = settled ? ends.slice(-1) : ends;
  if (allowed.includes(status)) return null;
  const recorded = allowed.join(' or ') || 'nothing';
  return { rule: 'status_differs', reach_id, message: `${channel} says ${status}, the history says ${recorded}` };
}

function resultDiffers({ runsOf }: Index, { reach_id, channel, output_id }: Sighting): Violation | null {
  if (output_id === null || runsOf(reach_id).some((run) => run.output_id === output_id)) return null;
  return {
    rule: 'result_differs',
    reach_id,
    message: `${channel} shows the result of work ${output_id}, which no run recorded`,
  };
}

/** How a reach ended that is a dead letter until it is redriven; docs/dead-letters.md. */
export const DEAD: ReadonlySet<ReachStatus> = new Set<ReachStatus>(['dead_lettered', 'expired', 'outcome_unknown']);

/** Reaches that failed, in whichever way, and are in no list; and such that did not and are open. */
export function misfiledDeadLetters({ recording, lastRun }: Index): Violation[] {
  const { dead_letters, runs } = recording;
  const listed = new Map(dead_letters.map(({ reach_id, state }) => [reach_id, state]));
  return [...new Set(runs.map(({ reach_id }) => reach_id))].flatMap((reach_id): Violation[] => {
    const status = lastRun(reach_id)!.status;
    if (DEAD.has(status)) {
      if (listed.has(reach_id)) return [];
      return [{ rule: 'dead_letter_missing', reach_id, message: `it ended ${status} and is no dead letter` }];
    }
    if (listed.get(reach_id) !== 'open') return [];
    return [{ rule: 'dead_letter_of_a_success', reach_id, message: `it is ${status} and an open dead letter` }];
  });
}
