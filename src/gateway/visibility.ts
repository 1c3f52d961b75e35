/** How lists ask Temporal's visibility: the query language, pages, and cursors that cannot be forged by accident. */
import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { ReachError } from '../protocol/reach-error';
import { splitTarget } from '../routing/scope';
import { bounded, fromTemporal } from './temporal-errors';

/** Text that a list is filtered by. */
export const filterText = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}]*$/u, 'control characters are not allowed')
  .optional();

/** A cursor as {@link sealCursor} made it. */
export const filterCursor = z.base64url().max(4096).optional();

/** One run as visibility knows it. */
export type Execution = Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>>['executions'][number];

/** Where runs are looked for. */
export interface VisibilityScope {
  client: Client;
  namespace: string;
}

/** A page of runs; `token` is empty after the last. */
export interface ExecutionPage {
  executions: Execution[];
  token: Uint8Array;
}

/** Reads one page. @throws ReachError `engine_unavailable`; `what` says for people what was being done */
export async function readPage(
  { client, namespace }: VisibilityScope,
  page: { query: string; pageSize: number; token?: Uint8Array },
  what: string,
): Promise<ExecutionPage> {
  const request = {
    namespace,
    pageSize: page.pageSize,
    nextPageToken: page.token ?? new Uint8Array(),
    query: page.query,
  };
  try {
    const answer = await bounded(client, () => client.workflowService.listWorkflowExecutions(request));
    return { executions: answer.executions, token: answer.nextPageToken ?? new Uint8Array() };
  } catch (caught) {
    throw fromTemporal(caught, what);
  }
}

/** Who is asked for by ability, agent and sender. */
export interface WhoFilter {
  ability?: string;
  /** `name` or `name#version`, as lists print agents. */
  agent?: string;
  source?: string;
}

/** The terms of a query for {@link WhoFilter}. They may let too much through: {@link fits} has the last word. */
export function whoTerms({ ability, agent, source }: WhoFilter): string[] {
  return [
    ...(ability === undefined ? [] : equals('ReachAbility', ability)),
    ...(agent === undefined ? [] : agentTerms(agent)),
    ...(source === undefined ? [] : equals('ReachSource', source)),
  ];
}

function agentTerms(agent: string): string[] {
  const [name, version] = splitTarget(agent);
  return [...equals('ReachAgent', name), ...(version === undefined ? [] : equals('ReachVersion', plain(version)))];
}

/** Versions are kept without their `v`. */
const plain = (version: string) => version.replace(/^v/, '');

/** True when a row is what was asked for. */
export function fits(
  row: { ability: string | null; agent_name: string | null; agent_version: string | null; source_agent: string | null },
  { ability, agent, source }: WhoFilter,
): boolean {
  const [name, version] = agent === undefined ? [] : splitTarget(agent);
  const wanted = [
    [ability, row.ability],
    [name, row.agent_name],
    [version === undefined ? undefined : plain(version), row.agent_version],
    [source, row.source_agent],
  ];
  return wanted.every(([asked, found]) => asked === undefined || asked === found);
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

const CHECKSUM_BYTES = 8;

/** The server's page token with a checksum: it answers a damaged one as if it were down itself. */
export function sealCursor(token: Uint8Array): string {
  return Buffer.concat([checksum(token), token]).toString('base64url');
}

/** @throws ReachError `invalid_request` */
export function openCursor(cursor: string): Uint8Array {
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
