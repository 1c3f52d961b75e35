import { z } from 'zod';
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
  in_flight: count,
});
const agentDigestSchema = z.object({ v: z.literal(1), series: z.array(seriesSchema) });

/** One series with what a process measured of it. */
export interface MeasuredSeries {
  id: SeriesId;
  digest: SeriesDigest;
}

/** The value of a digest's key: all series of one agent in one process. */
export function encodeAgentDigest(series: readonly MeasuredSeries[]): string {
  const rows = series.map(({ id, digest }) => ({
    ...('instanceId' in id ? { instance: id.instanceId } : { version: id.version, ability: id.ability }),
    latency: digest.latency,
    outcomes: digest.outcomes,
    in_flight: digest.inFlight,
  }));
  return JSON.stringify({ v: 1, series: rows });
}

/** Null for a value that cannot be read. */
export function decodeAgentDigest(value: Buffer): MeasuredSeries[] | null {
  try {
    const parsed = agentDigestSchema.safeParse(JSON.parse(value.toString('utf8')));
    return parsed.success ? parsed.data.series.flatMap(toSeries) : null;
  } catch {
    return null;
  }
}

function toSeries({
  version,
  ability,
  instance,
  latency,
  outcomes,
  in_flight,
}: z.infer<typeof seriesSchema>): MeasuredSeries[] {
  const digest: SeriesDigest = { latency, outcomes, inFlight: in_flight };
  if (instance !== undefined) return [{ id: { instanceId: instance }, digest }];
  return version === undefined || ability === undefined ? [] : [{ id: { version, ability }, digest }];
}
