import type { Client } from '@temporalio/client';
import { decodeSearchAttributes } from './search-attributes';
import { z } from 'zod';
import type { ReachStatus } from '../protocol/shapes';
import { validate } from '../protocol/validation';
import { REACH_WORKFLOW } from '../../workflows/messages';
import { statusOf } from './reach-view';
import { fromTemporal } from './temporal-errors';

const STATUS_QUERY: Record<Exclude<ReachStatus, 'accepted'>, string> = {
  running: "ExecutionStatus = 'Running'",
  completed: "ExecutionStatus = 'Completed'",
  cancelled: "ExecutionStatus = 'Canceled'",
  expired: "(ReachStatus = 'expired' OR ExecutionStatus = 'TimedOut')",
  outcome_unknown: "ReachStatus = 'outcome_unknown'",
  dead_lettered: "ReachStatus = 'dead_lettered'",
};

const text = z.string().min(1).max(256).optional();
const querySchema = z.strictObject({
  status: z.enum(Object.keys(STATUS_QUERY) as [keyof typeof STATUS_QUERY, ...(keyof typeof STATUS_QUERY)[]]).optional(),
  ability: text,
  agent: text,
  source: text,
  since: z.iso.datetime({ offset: true }).optional(),
  cursor: z.base64url().max(4096).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

/** One row of the list. */
export interface ReachRow {
  reach_id: string;
  status: ReachStatus;
  ability: string | null;
  agent_name: string | null;
  agent_version: string | null;
  source_agent: string | null;
  accepted_at: string;
  ended_at: string | null;
  duration_ms: number | null;
}

/** Lists reaches by visibility: eventually consistent, usually within a second. */
export class ReachLister {
  constructor(private readonly options: { client: Client; namespace: string }) {}

  /** @throws ReachError `invalid_request` naming the query parameter */
  async list(query: unknown): Promise<{ items: ReachRow[]; next_cursor?: string; consistency: 'eventual' }> {
    const filter = validate(querySchema, query, { what: 'the query' });
    const { client, namespace } = this.options;
    const answer = await client.workflowService
      .listWorkflowExecutions({
        namespace,
        pageSize: filter.limit,
        nextPageToken: filter.cursor ? Buffer.from(filter.cursor, 'base64url') : new Uint8Array(),
        query: visibilityQuery(filter),
      })
      .catch((caught: unknown) => {
        throw fromTemporal(caught, 'list the reaches');
      });
    const token = answer.nextPageToken;
    return {
      items: currentRuns(answer.executions.map(rowOf)),
      ...(token && token.length > 0 && { next_cursor: Buffer.from(token).toString('base64url') }),
      consistency: 'eventual',
    };
  }
}

function visibilityQuery(filter: z.infer<typeof querySchema>): string {
  const terms = [`WorkflowType = '${REACH_WORKFLOW}'`];
  if (filter.status) terms.push(STATUS_QUERY[filter.status]);
  if (filter.ability) terms.push(`ReachAbility = ${quote(filter.ability)}`);
  if (filter.agent) terms.push(`ReachAgent = ${quote(filter.agent)}`);
  if (filter.source) terms.push(`ReachSource = ${quote(filter.source)}`);
  if (filter.since) terms.push(`StartTime >= ${quote(new Date(filter.since).toISOString())}`);
  return terms.join(' AND ');
}

/** A literal of the visibility query language: quotes and backslashes are escaped, so a value stays a value. */
function quote(value: string): string {
  return `'${value.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`;
}

type Execution = Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>>['executions'][number];

function rowOf(execution: Execution): ReachRow {
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
const STATUS_NAMES = ['UNSPECIFIED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'CONTINUED_AS_NEW', 'TIMED_OUT', 'PAUSED'];

function millis(time: Execution['startTime']): number {
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1e6;
}

/** After a reset the same id has several runs; only the newest on the page is shown. */
function currentRuns(rows: ReachRow[]): ReachRow[] {
  const newest = new Map<string, ReachRow>();
  for (const row of rows) {
    const known = newest.get(row.reach_id);
    if (!known || known.accepted_at < row.accepted_at) newest.set(row.reach_id, row);
  }
  return [...newest.values()];
}
