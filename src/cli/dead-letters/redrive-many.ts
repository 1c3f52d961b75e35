/** The engine behind `dead-letters redrive` and `recover`: collect, then look at each or redrive each run that was found exactly once. */
import { ReachError } from '../../protocol/reach-error';
import type { DeadLetterFilter, DeadLetterItem, DeadLettersClient } from '../../sdk/dead-letters';
import { EXIT, exitCodeOf } from '../exit-codes';
import { ProgressBar } from '../progress-bar';
import { renderOutcome, renderRehearsal, type ManyOutcome } from '../render/dead-letters';
import type { Session } from '../session';

/** Requests at once. */
const CONCURRENT = 8;
const PAGE = 200;

const NEEDS_CONSENT =
  'would be skipped: the agent may have done the work, and it was promised not to be sent twice; --accept-repeat sends it again all the same';

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
  await inLanes(session, { text: 'redriving', items: targets }, (target) =>
    one(target, { session, letters, options, outcome }),
  );
  session.print(outcome, () => renderOutcome(outcome, session.io));
  session.io.signal.throwIfAborted();
  return outcome;
}

/** Prints what redriving them would do. Whether one needs `--accept-repeat` stands in its story alone, so each is read. */
export async function rehearse(
  session: Session,
  letters: DeadLettersClient,
  { items, acceptRepeat = false }: { items: readonly DeadLetterItem[]; acceptRepeat?: boolean },
): Promise<void> {
  const { signal } = session.io;
  const skipped = new Map<string, string>();
  await inLanes(session, { text: 'looking', items }, async ({ reach_id: id, run_id: runId, state }) => {
    if (state !== 'open') skipped.set(id, `would be skipped: it was ${state} before`);
    else if (!acceptRepeat) {
      const reason = await objection(letters, { id, runId, signal });
      if (reason !== null) skipped.set(id, reason);
    }
  });
  signal.throwIfAborted();
  const would = items.filter(({ reach_id }) => !skipped.has(reach_id));
  const reasons = [...skipped].map(([reach_id, reason]) => ({ reach_id, reason }));
  session.print({ matched: items.length, would_redrive: would, skipped: reasons }, () =>
    renderRehearsal(would, reasons, session.io),
  );
}

/** Why a redrive would skip this failed run; null when it would not. */
async function objection(
  letters: DeadLettersClient,
  { id, runId, signal }: { id: string; runId: string; signal: AbortSignal },
): Promise<string | null> {
  try {
    const story = await letters.show(id, { signal });
    return story.run_id === runId && story.needs_accept_repeat ? NEEDS_CONSENT : null;
  } catch (caught) {
    // It was recovered since it was listed, or retention took it.
    const { code, message } = ReachError.from(caught);
    if (code !== 'not_found') throw caught;
    return message;
  }
}

/** Does something with each, several at once, under a progress bar. */
async function inLanes<T>(
  session: Session,
  { text, items }: { text: string; items: readonly T[] },
  run: (item: T) => Promise<void>,
): Promise<void> {
  const bar = new ProgressBar(session.io, { text, total: items.length, quiet: session.json });
  const queue = items.values();
  const lane = async () => {
    for (const item of queue) {
      if (session.io.signal.aborted) return;
      await run(item);
      bar.tick();
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(CONCURRENT, items.length) }, lane));
  } finally {
    bar.stop();
  }
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
