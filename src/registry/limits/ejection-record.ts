/** The ejections of one agent as kept in etcd, and as this process has seen them. */
import { z } from 'zod';
import { timesAfter, type EjectionSettings } from '../../policy/ejection';

const entrySchema = z.object({
  /** Another one with every ejection. */
  id: z.string(),
  instance_id: z.string(),
  version: z.string(),
  /** `out`: ejected; `back`: it was, and `times` is remembered for a while. */
  state: z.enum(['out', 'back']),
  /** Ejections in succession. */
  times: z.number().int().min(1),
  duration_ms: z.number().positive(),
  failures: z.number().int(),
  /** For people, by the clock of whoever ejected it. */
  since: z.string(),
  until: z.string(),
});
const recordSchema = z.object({ v: z.literal(1), entries: z.array(entrySchema) });

export type EjectionEntry = z.infer<typeof entrySchema>;

/** An entry, and since when this process knows its present state, monotonic ms. */
export interface SeenEntry {
  entry: EjectionEntry;
  sinceMs: number;
}

export function encodeEjections(entries: readonly EjectionEntry[]): string {
  return JSON.stringify({ v: 1, entries });
}

/** Null for a value that cannot be read. */
export function decodeEjections(value: Buffer): EjectionEntry[] | null {
  try {
    return recordSchema.parse(JSON.parse(value.toString())).entries;
  } catch {
    return null;
  }
}

/** Names an instance: static ones of several versions share their ids. */
export function itemOf(instanceId: string, version: string): string {
  return `${instanceId}@${version}`;
}

/** Takes over what etcd says; what is in the same state as before keeps its time. */
export function seeEntries(
  entries: readonly EjectionEntry[],
  before: ReadonlyMap<string, SeenEntry>,
  nowMs: number,
): Map<string, SeenEntry> {
  return new Map(
    entries.map((entry) => {
      const item = itemOf(entry.instance_id, entry.version);
      const known = before.get(item);
      const isSame = known?.entry.id === entry.id && known.entry.state === entry.state;
      return [item, { entry, sinceMs: isSame ? known.sinceMs : nowMs }];
    }),
  );
}

/** How long an instance stays out, ms, by this process's own clock; 0 when it is not. */
export function remainingMs(seen: SeenEntry | undefined, nowMs: number): number {
  if (seen?.entry.state !== 'out') return 0;
  return Math.max(0, seen.entry.duration_ms - (nowMs - seen.sinceMs));
}

/** Ejections in succession that still count. */
export function timesOf(seen: SeenEntry | undefined, nowMs: number, settings: EjectionSettings): number {
  if (seen === undefined) return 0;
  const { entry, sinceMs } = seen;
  const healthyMs = entry.state === 'out' ? nowMs - sinceMs - entry.duration_ms : nowMs - sinceMs;
  return timesAfter(entry.times, healthyMs, settings);
}

/** How long a record still says something, ms: until every entry is back and its count has gone. */
export function worthMs(seen: Iterable<SeenEntry>, nowMs: number, { baseMs }: EjectionSettings): number {
  const each = [...seen].map(
    ({ entry, sinceMs }) =>
      (entry.state === 'out' ? entry.duration_ms : 0) + entry.times * baseMs - Math.max(0, nowMs - sinceMs),
  );
  return Math.max(0, ...each);
}
