/** The engine behind `dead-letters redrive` and `recover`: collect, then redrive each run that was found exactly once. */
import { ReachError } from '../../protocol/reach-error';
import type { DeadLetterFilter, DeadLetterItem, DeadLettersClient } from '../../sdk/dead-letters';
import { EXIT, exitCodeOf } from '../exit-codes';
import { ProgressBar } from '../progress-bar';
import { renderOutcome, type ManyOutcome } from '../render/dead-letters';
import type { Session } from '../session';

/** Requests at once. */
const CONCURRENT = 8;
const PAGE = 200;

/** What is to be redriven: a failed run where it is known. */
export interface Target {
  reachId: string;
  runId?: string;
}

export interface ManyOptions {
  acceptRepeat?: boolean;
  by?: string;
}

/** Open dead letters that fit, newest first, at most `limit`. */
export async function collect(
  letters: DeadLettersClient,
  filter: DeadLetterFilter,
  { limit, signal }: { limit: number; signal: AbortSignal },
): Promise<DeadLetterItem[]> {
  const found: DeadLetterItem[] = [];
  let cursor: string | undefined;
  do {
    const page = await letters.list({ ...filter, cursor, limit: PAGE }, { signal });
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined && found.length < limit);
  return found.slice(0, limit);
}

/** Redrives them with a progress bar, prints what came of it, and sets the exit code: 1 when any failed. */
export async function redriveMany(
  session: Session,
  letters: DeadLettersClient,
  { targets, options }: { targets: readonly Target[]; options: ManyOptions },
): Promise<ManyOutcome> {
  const outcome: ManyOutcome = { matched: targets.length, redriven: [], skipped: [], failed: [] };
  const bar = new ProgressBar(session.io, { text: 'redriving', total: targets.length, quiet: session.json });
  const queue = targets.values();
  const lane = async () => {
    for (const target of queue) {
      if (session.io.signal.aborted) return;
      await one(target, { session, letters, options, outcome });
      bar.tick();
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(CONCURRENT, targets.length) }, lane));
  } finally {
    bar.stop();
  }
  session.print(outcome, () => renderOutcome(outcome, session.io));
  session.io.signal.throwIfAborted();
  return outcome;
}

async function one(
  { reachId, runId }: Target,
  run: { session: Session; letters: DeadLettersClient; options: ManyOptions; outcome: ManyOutcome },
): Promise<void> {
  const { session, letters, options, outcome } = run;
  const { signal } = session.io;
  try {
    // Naming the run makes the request safe to repeat when its answer is lost.
    const failedRun = runId ?? (await letters.show(reachId, { signal })).run_id;
    outcome.redriven.push(await letters.redrive(reachId, { ...options, runId: failedRun, signal }));
  } catch (caught) {
    // What it came to is not known; what came before is told all the same.
    if (signal.aborted) return;
    const error = ReachError.from(caught);
    if (error.code === 'reach_terminal') {
      outcome.skipped.push({ reach_id: reachId, reason: error.message });
      // Asked for by name and refused is a failure; one of many is skipped.
      if (runId === undefined) session.exitCode = Math.max(session.exitCode, EXIT.failed);
      return;
    }
    outcome.failed.push({ reach_id: reachId, error: error.toProblem() });
    session.exitCode = Math.max(session.exitCode, exitCodeOf(error));
  }
}
