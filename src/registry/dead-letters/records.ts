import { ReachError } from '../../protocol/reach-error';

/** A redrive of one failed run. `pending` holds for the lease of whoever is at it; `done` names the new run. */
export type RedriveRecord =
  { v: 1; state: 'pending'; by: string; at: string } | { v: 1; state: 'done'; by: string; at: string; run_id: string };

/** A failed run that somebody decided against. */
export interface DiscardRecord {
  v: 1;
  reason: string;
  by: string;
  at: string;
}

/** What is on record of one reach, by failed run. */
export interface DeadLetterRecords {
  redrives: Map<string, RedriveRecord>;
  discards: Map<string, DiscardRecord>;
}

/** @throws ReachError `internal` that names the key of what cannot be read */
export function decodeRedrive(key: string, value: Buffer): RedriveRecord {
  const record = decode(key, value) as RedriveRecord;
  if (record.state === 'pending' || (record.state === 'done' && typeof record.run_id === 'string')) return record;
  throw unreadable(key);
}

/** @throws ReachError `internal` that names the key of what cannot be read */
export function decodeDiscard(key: string, value: Buffer): DiscardRecord {
  const record = decode(key, value) as unknown as DiscardRecord;
  if (typeof record.reason === 'string') return record;
  throw unreadable(key);
}

function decode(key: string, value: Buffer): { v?: unknown; by?: unknown; at?: unknown } {
  try {
    const record = JSON.parse(value.toString('utf8')) as { v?: unknown; by?: unknown; at?: unknown };
    if (record.v === 1 && typeof record.by === 'string' && typeof record.at === 'string') return record;
  } catch {
    // Told below, without the value.
  }
  throw unreadable(key);
}

function unreadable(key: string): ReachError {
  return new ReachError('internal', `The value of ${key} in etcd cannot be read; delete it and try again`);
}
