/** The route table on the wire (R21), and what it takes to be a valid one. */
import { z } from 'zod';
import { ABILITY_NAME, AGENT_NAME, NO_CONTROL, parseTargetAgent } from './envelope';
import { findingsError } from './findings';
import type { FieldError } from './reach-error';
import type { RouteEntry } from './route-table';
import { findingsOf } from './zod-findings';

/** Most routes in a table. */
export const MAX_ROUTES = 10_000;
/** So large that nobody needs more, so small that every sum of them is exact. */
const MAX_WEIGHT = 1_000_000_000;
const WEIGHT_RULE = `must be an integer from 0 to ${MAX_WEIGHT}; weights are relative, 0 means none`;

const target = z
  .string()
  .max(200)
  .refine((text) => targetOf(text) !== null, 'must be name#version with a full version, such as refund_agent#1.2.0');

/** `name#version` without a leading `v`; null for what is none. */
function targetOf(text: string): string | null {
  const { name, version } = parseTargetAgent(text) ?? { name: '' };
  return version === undefined || !AGENT_NAME.test(name) ? null : `${name}#${version}`;
}

/** One route. */
export const routeEntrySchema = z
  .strictObject({
    ability: z
      .string()
      .regex(ABILITY_NAME, 'must be the name of an ability: letters, digits, _ - . up to 128 characters')
      .refine((name) => name.normalize('NFC') === name, 'must be in Unicode form NFC')
      .meta({ example: 'refund' }),
    from: z.string().min(1).max(64).regex(NO_CONTROL, 'must not contain control characters').meta({
      description: 'Caller group, matched exactly, so `*` is refused; an envelope without one is of `default`.',
      example: 'default',
    }),
    to: target.meta({ description: '`name#version`.', example: 'refund_agent#1.2.0' }),
    weight: z
      .int(WEIGHT_RULE)
      .min(0, WEIGHT_RULE)
      .max(MAX_WEIGHT, WEIGHT_RULE)
      .meta({ description: 'Relative; weights need not sum to anything. 0 means none.', example: 90 }),
  })
  .meta({ id: 'Route' });

/** A list of routes without regard to each other; {@link parseRoutes} looks at them together. */
export const routeListSchema = z
  .array(routeEntrySchema)
  .max(MAX_ROUTES, `must not have more than ${MAX_ROUTES} routes`);

/** The body of `PUT /v1/routes`, and the answer of `GET`. */
export const routeTableSchema = z.strictObject({ routes: routeListSchema }).meta({ id: 'RouteTable' });

/** The answer of `PUT /v1/routes`. */
export const routeTableWrittenSchema = z
  .object({
    routes: z.array(routeEntrySchema),
    warnings: z
      .array(z.string())
      .meta({ description: 'Routes that lead nowhere now; a route may be written before its version registers.' }),
  })
  .meta({ id: 'RouteTableWritten' });

/** A table as it was written, with what the caller should look at. */
export interface RouteTableWritten {
  routes: RouteEntry[];
  warnings: string[];
}

/**
 * The routes of a document `{routes}`.
 * @throws ReachError `weights_invalid` when weights alone are wrong, else `invalid_request`; with every finding
 */
export function parseRoutes(document: unknown): RouteEntry[] {
  const result = routeTableSchema.safeParse(document);
  const found = result.success
    ? findingsAmong(result.data.routes.map(plain))
    : findingsOf(result.error, { schema: routeTableSchema, value: document });
  if (result.success && found.length === 0) return result.data.routes.map(plain);
  const onlyWeights = found.every(({ pointer }) => /^\/routes\/\d+\/weight$/.test(pointer));
  throw findingsError(found, { code: onlyWeights ? 'weights_invalid' : 'invalid_request' });
}

/**
 * What is wrong with routes that are well-formed: repeated ones, groups where all weights are 0, and a `*` that was meant for
 * all groups and would silently be none.
 */
export function findingsAmong(entries: readonly RouteEntry[]): FieldError[] {
  const findings: FieldError[] = [];
  const seen = new Map<string, number>();
  const groups = new Map<string, { first: number; sum: number }>();
  entries.forEach(({ ability, from, to, weight }, position) => {
    if (from === '*') findings.push(noWildcard(position));
    const key = JSON.stringify([ability, from, to]);
    const earlier = seen.get(key);
    if (earlier === undefined) seen.set(key, position);
    else
      findings.push({
        pointer: `/routes/${position}`,
        message: `says the same as /routes/${earlier}`,
        fix: 'keep one',
      });
    const group = JSON.stringify([ability, from]);
    const known = groups.get(group) ?? { first: position, sum: 0 };
    known.sum += weight;
    groups.set(group, known);
  });
  for (const { first, sum } of groups.values()) if (sum === 0) findings.push(allZero(entries[first]!, first));
  return findings;
}

function noWildcard(position: number): FieldError {
  return {
    pointer: `/routes/${position}/from`,
    message: 'is "*", but groups are matched exactly and there is no wildcard, so this route would never apply',
    fix: 'write "default", the group of callers that name none, and list other groups one by one',
  };
}

function allZero({ ability, from }: RouteEntry, position: number): FieldError {
  return {
    pointer: `/routes/${position}/weight`,
    message: `is 0, as are all weights of ${ability} for the group ${from}`,
    fix: 'give one of them a weight above 0, or leave these routes out',
  };
}

/** A route as it is kept: without the `v` of its version, and without -0. */
function plain({ ability, from, to, weight }: RouteEntry): RouteEntry {
  return { ability, from, to: targetOf(to) ?? to, weight: weight + 0 };
}
