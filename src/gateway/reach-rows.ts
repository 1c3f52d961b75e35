/** Runs as visibility lists them, as rows of a list; and which of several runs of a reach counts. */
import type { ReachSummary } from '../protocol/reach-summary';
import { REACH_WORKFLOW } from '../../workflows/messages';
import { statusOf } from './reach-view';
import { decodeSearchAttributes } from './search-attributes';
import { readPage, type Execution, type VisibilityScope } from './visibility';

/** At most so many runs of the reaches on one page are looked at. */
const MAX_RUNS = 1_000;

/** The row of one run. */
export function rowOf(execution: Execution): ReachSummary {
  const attributes = decodeSearchAttributes(execution.searchAttributes);
  const started = millis(execution.startTime);
  const closed = execution.closeTime ? millis(execution.closeTime) : null;
  return {
    reach_id: execution.execution?.workflowId ?? '',
    status: statusOf(STATUS_NAMES[execution.status ?? 0] ?? 'FAILED', attributes.ReachStatus),
    ability: attributes.ReachAbility ?? null,
    agent_name: attributes.ReachAgent ?? null,
    agent_version: attributes.ReachVersion ?? null,
    source_agent: attributes.ReachSource ?? null,
    accepted_at: new Date(started).toISOString(),
    ended_at: closed === null ? null : new Date(closed).toISOString(),
    duration_ms: closed === null ? null : Math.max(0, Math.round(closed - started)),
  };
}

/** `WorkflowExecutionStatus` of the Temporal API, by number. */
const STATUS_NAMES = [
  'UNSPECIFIED',
  'RUNNING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'CONTINUED_AS_NEW',
  'TIMED_OUT',
  'PAUSED',
];

function millis(time: Execution['startTime']): number {
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1e6;
}

/** After a reset the same id has several runs; the last to end, or the one that runs, is the reach's own. */
export function currentRuns<R extends ReachSummary>(rows: readonly R[]): R[] {
  const current = new Map<string, R>();
  for (const row of rows) {
    const known = current.get(row.reach_id);
    if (!known || endOf(known) < endOf(row)) current.set(row.reach_id, row);
  }
  return [...current.values()];
}

/**
 * A recovered reach has a newer run with another status: its failed one, which a filter found, is no dead letter any
 * more. As far as visibility knows, which is eventually consistent.
 */
export async function withoutReplaced<R extends ReachSummary>(
  scope: VisibilityScope,
  rows: readonly R[],
  what: string,
): Promise<R[]> {
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map(({ reach_id }) => `'${reach_id.replace(/['\\]/g, '')}'`))];
  const query = `WorkflowType = '${REACH_WORKFLOW}' AND WorkflowId IN (${ids.join(', ')})`;
  const { executions } = await readPage(scope, { query, pageSize: MAX_RUNS }, what);
  const current = new Map(currentRuns(executions.map(rowOf)).map((row) => [row.reach_id, endOf(row)]));
  return rows.filter((row) => (current.get(row.reach_id) ?? '') <= endOf(row));
}

/** When a run ended, for comparison: one that still runs ends after all others. A reset run keeps the first one's start. */
function endOf({ ended_at }: ReachSummary): string {
  return ended_at ?? '9999';
}
