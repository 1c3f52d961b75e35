/** Recorded results against the work that the agents did (R7: acknowledge after success). */
import type { Run, Violation } from './facts';
import { compareText, type Index } from './index-of';

/** Completed runs without work behind them, with a result that nobody produced, or with that of an overtaken attempt. */
export function unfoundedResults(index: Index): Violation[] {
  return index.recording.runs.flatMap((run) => (run.status === 'completed' ? (unfounded(index, run) ?? []) : []));
}

function unfounded({ journalOf }: Index, { reach_id, output_id, run_id, degraded }: Run): Violation | null {
  // The fixed answer of a fallback is nobody's work.
  if (degraded && output_id === null) return null;
  const entries = journalOf(reach_id);
  if (!entries.some(({ worked }) => worked)) {
    return {
      rule: 'acknowledged_before_work',
      reach_id,
      message: `run ${run_id} completed, and no agent did the work`,
    };
  }
  const source = entries.find((entry) => entry.worked && entry.output_id === output_id);
  if (!source) {
    const message = `the result is of work ${output_id}, which no agent did for this reach`;
    return { rule: 'result_never_produced', reach_id, message };
  }
  const newest = entries
    .map(({ fence }) => fence)
    .sort(compareText)
    .at(-1)!;
  if (source.fence === newest) return null;
  const message = `the result is of fence ${source.fence}, while an agent was given ${newest}`;
  return { rule: 'stale_result', reach_id, message };
}
