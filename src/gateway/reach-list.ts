import { z } from 'zod';
import type { ReachSummary } from '../protocol/reach-summary';
import type { ReachStatus } from '../protocol/shapes';
import { validate } from '../protocol/validation';
import { REACH_WORKFLOW } from '../../workflows/messages';
import { currentRuns, rowOf, withoutReplaced } from './reach-rows';
import {
  filterCursor,
  filterText,
  fits,
  openCursor,
  readPage,
  sealCursor,
  whoTerms,
  type VisibilityScope,
} from './visibility';

const STATUS_QUERY: Record<Exclude<ReachStatus, 'accepted'>, string> = {
  running: "ExecutionStatus = 'Running'",
  completed: "ExecutionStatus = 'Completed'",
  cancelled: "ExecutionStatus = 'Canceled'",
  expired: "(ReachStatus = 'expired' OR ExecutionStatus = 'TimedOut')",
  outcome_unknown: "ReachStatus = 'outcome_unknown'",
  dead_lettered: "ReachStatus = 'dead_lettered'",
};

const querySchema = z.strictObject({
  status: z.enum(Object.keys(STATUS_QUERY) as [keyof typeof STATUS_QUERY, ...(keyof typeof STATUS_QUERY)[]]).optional(),
  ability: filterText,
  agent: filterText,
  source: filterText,
  parent: z
    .string()
    .regex(/^r-[a-z2-7]{32}$/, 'must be a reach id')
    .optional(),
  since: z.iso.datetime({ offset: true }).optional(),
  cursor: filterCursor,
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

const WHAT = 'list the reaches';

/** Lists reaches by visibility: eventually consistent, usually within a second. */
export class ReachLister {
  constructor(private readonly options: VisibilityScope) {}

  /** @throws ReachError `invalid_request` naming the query parameter */
  async list(query: unknown): Promise<{ items: ReachSummary[]; next_cursor?: string; consistency: 'eventual' }> {
    const filter = validate(querySchema, query, { what: 'the query' });
    const page = {
      query: visibilityQuery(filter),
      pageSize: filter.limit,
      ...(filter.cursor && { token: openCursor(filter.cursor) }),
    };
    const { executions, token } = await readPage(this.options, page, WHAT);
    const rows = executions.map(rowOf).filter((row) => fits(row, filter));
    return {
      items: currentRuns(filter.status ? await withoutReplaced(this.options, rows, WHAT) : rows),
      ...(token.length > 0 && { next_cursor: sealCursor(token) }),
      consistency: 'eventual',
    };
  }
}

function visibilityQuery({ status, since, parent, ...who }: z.infer<typeof querySchema>): string {
  const terms = [`WorkflowType = '${REACH_WORKFLOW}'`];
  if (status) terms.push(STATUS_QUERY[status]);
  terms.push(...whoTerms(who));
  if (parent) terms.push(`ReachParent = '${parent}'`);
  if (since) terms.push(`StartTime >= '${new Date(since).toISOString()}'`);
  return terms.join(' AND ');
}
