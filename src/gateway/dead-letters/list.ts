import { performance } from 'node:perf_hooks';
import {
  deadLetterQuerySchema,
  type DeadLetterFilter,
  type DeadLetterItem,
  type DeadLetterQuery,
  type DeadLetterStatus,
} from '../../protocol/dead-letter';
import { ReachError } from '../../protocol/reach-error';
import type { ReachSummary } from '../../protocol/reach-summary';
import { validate } from '../../protocol/validation';
import { REACH_WORKFLOW } from '../../../workflows/messages';
import { rowOf } from '../reach-rows';
import { fits, openCursor, readPage, sealCursor, whoTerms, type VisibilityScope } from '../visibility';
import type { CaseOptions, DeadCase, DeadLetterCases } from './cases';
import { mapLimited } from './map-limited';

/** Runs of one page that are looked at, at once. */
const CONCURRENT_READS = 16;
/** A filter that hits little goes on to the next page of runs for this long, ms; then the caller does, by cursor. */
const SCAN_MS = 3_000;
/** A page is given up after this long, ms. */
const PAGE_MS = 15_000;
const WHAT = 'list the dead letters';

const FAILED = "ExecutionStatus IN ('Failed', 'TimedOut', 'Terminated')";
const STATUS_QUERY: Record<DeadLetterStatus, string> = {
  dead_lettered:
    "(ReachStatus = 'dead_lettered' OR ExecutionStatus = 'Terminated' OR (ExecutionStatus = 'Failed' AND ReachStatus IS NULL))",
  expired: "(ReachStatus = 'expired' OR ExecutionStatus = 'TimedOut')",
  outcome_unknown: "ReachStatus = 'outcome_unknown'",
};

/** A row of visibility with the run it is of. */
export type FailedRow = ReachSummary & {
  run_id: string;
  /** Somebody was named who is told of its end (R5). */
  tells: boolean;
  /** The server ended it, so it could tell nobody itself. */
  cut: boolean;
};

/** A page of dead letters. */
export interface DeadLetterPage {
  items: DeadLetterItem[];
  next_cursor?: string;
  consistency: 'eventual';
}

/**
 * Lists dead letters, newest first. Which runs failed comes from visibility, within about a second; whether a run still is its
 * reach's last one, and what it ended with, is read from the runs themselves, so a reach that was recovered never shows as open.
 */
export class DeadLetterLister {
  constructor(private readonly options: CaseOptions & { scope: VisibilityScope; cases: DeadLetterCases }) {}

  /** @throws ReachError `invalid_request` naming the query parameter */
  list(query: unknown): Promise<DeadLetterPage> {
    return this.page(validate(deadLetterQuerySchema, query, { what: 'the query' }));
  }

  /** Open dead letters that fit the filter, newest first, at most `limit`. */
  async open(filter: DeadLetterFilter, limit: number): Promise<DeadLetterItem[]> {
    const found: DeadLetterItem[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.page({ ...filter, state: 'open', cursor, limit: 200 });
      found.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor !== undefined && found.length < limit);
    return found.slice(0, limit);
  }

  private async page(query: DeadLetterQuery): Promise<DeadLetterPage> {
    const endsMs = performance.now() + SCAN_MS;
    let token = query.cursor === undefined ? undefined : openCursor(query.cursor);
    for (;;) {
      const page = await readPage(
        this.options.scope,
        { query: deadLetterTerms(query), pageSize: query.limit, token },
        WHAT,
      );
      const items = await this.items(page.executions.map(failedRowOf), query);
      token = page.token;
      if (items.length === 0 && token.length > 0 && performance.now() < endsMs) continue;
      return { items, ...(token.length > 0 && { next_cursor: sealCursor(token) }), consistency: 'eventual' };
    }
  }

  private async items(rows: FailedRow[], query: DeadLetterQuery): Promise<DeadLetterItem[]> {
    const wanted = rows.filter((row) => fits(row, query));
    const records = await this.options.store.of([...new Set(wanted.map(({ reach_id }) => reach_id))]);
    const endsMs = performance.now() + PAGE_MS;
    const items = await mapLimited(wanted, CONCURRENT_READS, async (row) => {
      if (performance.now() > endsMs) throw tooSlow();
      try {
        const current = await this.options.reader.describe(row.reach_id);
        const onRecord = records.get(row.reach_id);
        const found = onRecord && (await this.options.cases.of(current, onRecord));
        return found && belongs(found, row, query) ? await this.options.cases.item(found) : null;
      } catch (error) {
        // Retention took it between the list and the look.
        if (error instanceof ReachError && error.code === 'not_found') return null;
        throw error;
      }
    });
    return items.filter((item) => item !== null).filter(({ error }) => !query.code || error.code === query.code);
  }
}

function tooSlow(): ReachError {
  const message = `Temporal did not answer within ${PAGE_MS / 1_000} s to ${WHAT}; try again with a smaller limit`;
  return new ReachError('engine_unavailable', message, { retryAfterMs: 1_000 });
}

/** Each reach is in the list once: as its last failed run. */
function belongs({ failed, state }: DeadCase, row: FailedRow, query: DeadLetterQuery): boolean {
  return failed.runId === row.run_id && state === query.state;
}

/** `WORKFLOW_EXECUTION_STATUS_FAILED` of the Temporal API. */
const FAILED_BY_ITSELF = 3;

/** A run of visibility as a row. */
export function failedRowOf(execution: Parameters<typeof rowOf>[0]): FailedRow {
  const tells = execution.memo?.fields?.notify !== undefined;
  return {
    ...rowOf(execution),
    run_id: execution.execution?.runId ?? '',
    tells,
    cut: execution.status !== FAILED_BY_ITSELF,
  };
}

/** The visibility query for failed runs. */
export function deadLetterTerms({ status, since, until, ...who }: DeadLetterFilter): string {
  const terms = [`WorkflowType = '${REACH_WORKFLOW}'`, status ? STATUS_QUERY[status] : FAILED, ...whoTerms(who)];
  if (since) terms.push(`CloseTime >= '${new Date(since).toISOString()}'`);
  if (until) terms.push(`CloseTime < '${new Date(until).toISOString()}'`);
  return terms.join(' AND ');
}
