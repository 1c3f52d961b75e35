import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { decodeSearchAttributes } from './search-attributes';
import { z } from 'zod';
import { ReachError } from '../protocol/reach-error';
import type { ReachStatus } from '../protocol/shapes';
import { validate } from '../protocol/validation';
import { REACH_WORKFLOW } from '../../workflows/messages';
import { statusOf } from './reach-view';
import { bounded, fromTemporal } from './temporal-errors';

const STATUS_QUERY: Record<Exclude<ReachStatus, 'accepted'>, string> = {
  running: "ExecutionStatus = 'Running'",
  completed: "ExecutionStatus = 'Completed'",
  cancelled: "ExecutionStatus = 'Canceled'",
  expired: "(ReachStatus = 'expired' OR ExecutionStatus = 'TimedOut')",
  outcome_unknown: "ReachStatus = 'outcome_unknown'",
  dead_lettered: "ReachStatus = 'dead_lettered'",
};

const text = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}]*$/u, 'control characters are not allowed')
  .optional();
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
    const page = {
      namespace,
      pageSize: filter.limit,
      nextPageToken: filter.cursor ? openCursor(filter.cursor) : new Uint8Array(),
      query: visibilityQuery(filter),
    };
    const answer = await bounded(client, () => client.workflowService.listWorkflowExecutions(page)).catch(
      (caught: unknown) => {
        throw fromTemporal(caught, 'list the reaches');
      },
    );
    const token = answer.nextPageToken;
    const rows = answer.executions.map(rowOf).filter((row) => fits(row, filter));
    return {
      items: currentRuns(filter.status ? await this.withoutReplaced(rows) : rows),
      ...(token && token.length > 0 && { next_cursor: sealCursor(token) }),
      consistency: 'eventual',
    };
  }

  /** A recovered reach has a newer run with another status: its failed one, which the filter found, is no dead letter any more. */
  private async withoutReplaced(rows: ReachRow[]): Promise<ReachRow[]> {
    if (rows.length === 0) return rows;
    const { client, namespace } = this.options;
    const ids = [...new Set(rows.map(({ reach_id }) => `'${reach_id.replace(/['\\]/g, '')}'`))];
    const query = `WorkflowType = '${REACH_WORKFLOW}' AND WorkflowId IN (${ids.join(', ')})`;
    const request = { namespace, pageSize: MAX_RUNS, nextPageToken: new Uint8Array(), query };
    const answer = await bounded(client, () => client.workflowService.listWorkflowExecutions(request)).catch(
      (caught: unknown) => {
        throw fromTemporal(caught, 'list the reaches');
      },
    );
    const current = new Map(currentRuns(answer.executions.map(rowOf)).map((row) => [row.reach_id, endOf(row)]));
    return rows.filter((row) => (current.get(row.reach_id) ?? '') <= endOf(row));
  }
}

type Filter = z.infer<typeof querySchema>;

/** At most so many runs of the reaches on one page are looked at. */
const MAX_RUNS = 1_000;

function visibilityQuery({ status, ability, agent, source, since }: Filter): string {
  const terms = [`WorkflowType = '${REACH_WORKFLOW}'`];
  if (status) terms.push(STATUS_QUERY[status]);
  if (ability) terms.push(...equals('ReachAbility', ability));
  if (agent) terms.push(...equals('ReachAgent', agent));
  if (source) terms.push(...equals('ReachSource', source));
  if (since) terms.push(`StartTime >= '${new Date(since).toISOString()}'`);
  return terms.join(' AND ');
}

/**
 * A comparison in the visibility query language. A quote is escaped, so a value stays a value. The server passes `"`
 * and `\\` on to its database escaped, where they match nothing: what comes before them is asked for, {@link fits} does the rest.
 */
function equals(attribute: string, value: string): string[] {
  const [before = ''] = /^[^"\\]*/.exec(value) ?? [];
  const literal = `'${before.replace(/'/g, "\\'")}'`;
  if (before === value) return [`${attribute} = ${literal}`];
  return before === '' ? [] : [`${attribute} STARTS_WITH ${literal}`];
}

function fits(row: ReachRow, { ability, agent, source }: Filter): boolean {
  const wanted = [
    [ability, row.ability],
    [agent, row.agent_name],
    [source, row.source_agent],
  ];
  return wanted.every(([asked, found]) => asked === undefined || asked === found);
}

const CHECKSUM_BYTES = 8;

/** The server's page token with a checksum: it answers a damaged one as if it were down itself. */
function sealCursor(token: Uint8Array): string {
  return Buffer.concat([checksum(token), token]).toString('base64url');
}

/** @throws ReachError `invalid_request` */
function openCursor(cursor: string): Uint8Array {
  const bytes = Buffer.from(cursor, 'base64url');
  const token = bytes.subarray(CHECKSUM_BYTES);
  if (token.length > 0 && checksum(token).equals(bytes.subarray(0, CHECKSUM_BYTES))) return token;
  throw new ReachError('invalid_request', 'The cursor is not one that this list gave out; begin again without it', {
    errors: [{ pointer: '/cursor', message: 'is not valid', fix: 'use next_cursor of the page before, unchanged' }],
  });
}

function checksum(token: Uint8Array): Buffer {
  return createHash('sha256').update(token).digest().subarray(0, CHECKSUM_BYTES);
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
function currentRuns(rows: ReachRow[]): ReachRow[] {
  const current = new Map<string, ReachRow>();
  for (const row of rows) {
    const known = current.get(row.reach_id);
    if (!known || endOf(known) < endOf(row)) current.set(row.reach_id, row);
  }
  return [...current.values()];
}

/** When a run ended, for comparison: one that still runs ends after all others. A reset run keeps the first one's start. */
function endOf({ ended_at }: ReachRow): string {
  return ended_at ?? '9999';
}
