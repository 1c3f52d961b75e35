import { z } from 'zod';
import type { BlockDigest, SlotDigest } from './demand-windows';
import type { DurationDigest } from './duration-counts';

/** Which ability of which version. */
export interface DemandId {
  version: string;
  ability: string;
}

/** What one process tells of one agent's last minutes. */
export interface NowDigest {
  /** Since when this process has counted, Unix seconds. */
  sinceSec: number;
  /** Callers that wait in this process for the agent. */
  queue: number;
  series: (DemandId & { slots: SlotDigest[]; service: DurationDigest })[];
}

/** What one process tells of one agent's hour before. */
export interface EarlierDigest {
  series: (DemandId & { blocks: BlockDigest[] })[];
}

const count = z.number().int().nonnegative();
const amount = z.number().nonnegative();
const durations = z.object({
  sums: z.tuple([count, amount, amount]),
  buckets: z.array(z.tuple([z.number().int(), count])),
});
const id = { version: z.string(), ability: z.string() };
const nowSchema = z
  .object({
    v: z.literal(1),
    sinceSec: amount,
    queue: count,
    series: z.array(z.object({ ...id, slots: z.array(z.tuple([count, count, count])), service: durations })),
  })
  .transform(({ sinceSec, queue, series }): NowDigest => ({ sinceSec, queue, series }));
const block = z.object({ block: count, arrivals: count, calls: count, service: durations });
const earlierSchema = z
  .object({ v: z.literal(1), series: z.array(z.object({ ...id, blocks: z.array(block) })) })
  .transform(({ series }): EarlierDigest => ({ series }));

/** The value of a key of demand. */
export function encodeDemand(digest: NowDigest | EarlierDigest): string {
  return JSON.stringify({ v: 1, ...digest });
}

/** Null for a value that cannot be read. */
export function decodeNow(value: Buffer): NowDigest | null {
  return decode(nowSchema, value);
}

/** Null for a value that cannot be read. */
export function decodeEarlier(value: Buffer): EarlierDigest | null {
  return decode(earlierSchema, value);
}

function decode<T>(schema: z.ZodType<T>, value: Buffer): T | null {
  try {
    const parsed = schema.safeParse(JSON.parse(value.toString('utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
