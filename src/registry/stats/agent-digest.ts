import { z } from 'zod';
import type { Moment } from '../clock';
import type { Evidence } from './forgetting';
import type { SeriesDigest } from './series';

/** What a series measures: an ability of a version, or an instance. */
export type SeriesId = { version: string; ability: string } | { instanceId: string };

/** A key for maps; parts are length-prefixed, so no two series share one. */
export function seriesKey(agentName: string, id: SeriesId): string {
  const parts = 'instanceId' in id ? ['i', id.instanceId] : ['a', id.version, id.ability];
  return [agentName, ...parts].map((part) => `${part.length}:${part}`).join('');
}

const count = z.number().int().nonnegative();
const seriesSchema = z.object({
  version: z.string().optional(),
  ability: z.string().optional(),
  instance: z.string().optional(),
  latency: z.array(z.tuple([z.number().int(), count])),
  outcomes: z.array(z.tuple([z.number().nonnegative(), z.number().int().positive(), count])),
  /** Absent in what an earlier release wrote. */
  evidence: z.tuple([z.number(), z.number().nonnegative(), z.number().nonnegative()]).optional(),
  totals: z.tuple([count, count]).optional(),
  in_flight: count,
});
const agentDigestSchema = z.object({ v: z.literal(1), series: z.array(seriesSchema) });

/** One series with what a process measured of it. */
export interface MeasuredSeries {
  id: SeriesId;
  digest: SeriesDigest;
}

/** The value of a digest's key: all series of one agent in one process. */
export function encodeAgentDigest(series: readonly MeasuredSeries[], moment: Moment): string {
  const rows = series.map(({ id, digest }) => ({
    ...('instanceId' in id ? { instance: id.instanceId } : { version: id.version, ability: id.ability }),
    latency: digest.latency,
    outcomes: digest.outcomes,
    evidence: toWire(digest.evidence, moment),
    ...(digest.totals && { totals: [digest.totals.requests, digest.totals.failures] }),
    in_flight: digest.inFlight,
  }));
  return JSON.stringify({ v: 1, series: rows });
}

/** Null for a value that cannot be read. */
export function decodeAgentDigest(value: Buffer, moment: Moment): MeasuredSeries[] | null {
  try {
    const parsed = agentDigestSchema.safeParse(JSON.parse(value.toString('utf8')));
    return parsed.success ? parsed.data.series.flatMap((row) => toSeries(row, moment)) : null;
  } catch {
    return null;
  }
}

function toSeries(row: z.infer<typeof seriesSchema>, moment: Moment): MeasuredSeries[] {
  const { version, ability, instance, latency, outcomes, totals, in_flight } = row;
  const digest: SeriesDigest = {
    latency,
    outcomes,
    evidence: toEvidence(row, moment),
    ...(totals && { totals: { requests: totals[0], failures: totals[1] } }),
    inFlight: in_flight,
  };
  if (instance !== undefined) return [{ id: { instanceId: instance }, digest }];
  return version === undefined || ability === undefined ? [] : [{ id: { version, ability }, digest }];
}

/** Weights have four digits behind the point. */
function toWire({ requests, failures, atMs }: Evidence, { nowMs, wallSec }: Moment): [number, number, number] {
  const short = (value: number) => Math.round(value * 1e4) / 1e4;
  return [Math.round(wallSec - (nowMs - atMs) / 1_000), short(requests), short(failures)];
}

/** Where none was written, outcomes count in full as of now: how old they are is known by the block only. */
function toEvidence(
  { evidence, outcomes }: Pick<z.infer<typeof seriesSchema>, 'evidence' | 'outcomes'>,
  { nowMs, wallSec }: Moment,
): Evidence {
  const sum = (part: 1 | 2) => outcomes.reduce((total, block) => total + block[part], 0);
  const [atSec, requests, failures] = evidence ?? [wallSec, sum(1), sum(2)];
  // A clock that is ahead makes nothing newer than now.
  return { requests, failures, atMs: nowMs - Math.max(0, wallSec - atSec) * 1_000 };
}
