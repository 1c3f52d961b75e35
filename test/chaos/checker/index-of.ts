import type { JournalEntry, Recording, Run } from './facts';

/** A recording looked up by reach, once for all checks. */
export interface Index {
  recording: Recording;
  runsOf(reachId: string): readonly Run[];
  journalOf(reachId: string): readonly JournalEntry[];
  /** What an agent saw of one run. */
  entriesOf(run: Run): readonly JournalEntry[];
  /** The run that has the last word: the latest. Undefined when there is none. */
  lastRun(reachId: string): Run | undefined;
}

/** Groups what belongs to one reach. Runs are ordered by their fences: a later run has a greater one. */
export function indexOf(recording: Recording): Index {
  const runs = grouped(recording.runs, ({ reach_id }) => reach_id);
  for (const list of runs.values()) list.sort(byFence);
  const journal = grouped(recording.journal, ({ reach_id }) => reach_id);
  const journalOf = (reachId: string) => journal.get(reachId) ?? [];
  return {
    recording,
    runsOf: (reachId) => runs.get(reachId) ?? [],
    journalOf,
    entriesOf: (run) => journalOf(run.reach_id).filter((entry) => isOf(entry, run)),
    lastRun: (reachId) => runs.get(reachId)?.at(-1),
  };
}

/** The run of a reach that has the last word. */
export function latestRun(runs: readonly Run[]): Run | undefined {
  return [...runs].sort(byFence).at(-1);
}

function byFence(a: Run, b: Run): number {
  return compareText(a.fence_bases[0] ?? '', b.fence_bases[0] ?? '');
}

/** Whether an agent saw this on behalf of that run. */
export function isOf({ fence }: Pick<JournalEntry, 'fence'>, run: Pick<Run, 'fence_bases' | 'first_task'>): boolean {
  const { fence_bases, first_task: first } = run;
  if (fence_bases.some((base) => fence.startsWith(base))) return true;
  const base = fence.slice(0, -6);
  return first !== undefined && base.length === first.from.length && base >= first.from && base <= first.to;
}

/** Lists by key, in the order of the items. */
export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** Order by code units, as fences compare. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
