/** What the breakers keep in etcd: values as JSON, and where they lie. */
import { z } from 'zod';
import { NEVER_TRIPPED, type BreakerRecord, type WindowDigest } from '../../policy/breaker';
import type { BreakerKey, BreakerOverride } from '../../protocol/reliability';
import type { Keyspace } from '../keys';

const count = z.number().int().nonnegative();
const ageMs = z.number().nonnegative();

const recordSchema = z.object({
  v: z.literal(1),
  state: z.enum(['closed', 'bypass', 'open', 'half_open', 'recovering']),
  phase: z.string(),
  epoch: z.string(),
  since: z.string(),
  reason: z.string(),
  step: count,
  successes: count,
  failures: count,
  probe_ms: ageMs,
  probe_due: z.boolean(),
});

const overrideSchema = z.object({
  v: z.literal(1),
  state: z.enum(['open', 'closed']),
  reason: z.string(),
  by: z.string(),
  set_at: z.string(),
  expires_at: z.string().nullable(),
});

const digestSchema = z.object({
  v: z.literal(1),
  epoch: z.string(),
  recent: z.array(z.tuple([ageMs, z.union([z.literal(0), z.literal(1)])])),
  buckets: z.array(z.tuple([ageMs, count, count, count])),
});

/** A digest with the epoch of the breaker that it was counted in. */
export interface EpochDigest {
  epoch: string;
  digest: WindowDigest;
}

export function encodeRecord({ probeMs, probeDue, ...rest }: BreakerRecord): string {
  return JSON.stringify({ v: 1, ...rest, probe_ms: probeMs, probe_due: probeDue });
}

/** Null for a value that cannot be read. */
export function decodeRecord(value: Buffer): BreakerRecord | null {
  const parsed = parse(recordSchema, value);
  if (parsed === null) return null;
  const { state, phase, epoch, since, reason, step, successes, failures } = parsed;
  const counts = { step, successes, failures, probeMs: parsed.probe_ms, probeDue: parsed.probe_due };
  return { ...NEVER_TRIPPED, state, phase, epoch, since, reason, ...counts };
}

export function encodeOverride(override: BreakerOverride): string {
  return JSON.stringify({ v: 1, ...override });
}

/** Null for a value that cannot be read. */
export function decodeOverride(value: Buffer): BreakerOverride | null {
  const parsed = parse(overrideSchema, value);
  if (parsed === null) return null;
  const { state, reason, by, set_at, expires_at } = parsed;
  return { state, reason, by, set_at, expires_at };
}

/** Ages are whole ms: finer ones only make the record longer. */
export function encodeDigest({ epoch, digest }: EpochDigest): string {
  const recent = digest.recent.map(([age, failed]) => [Math.round(age), failed]);
  const buckets = digest.buckets.map(([age, ...counts]) => [Math.round(age), ...counts]);
  return JSON.stringify({ v: 1, epoch, recent, buckets });
}

/** Null for a value that cannot be read. */
export function decodeDigest(value: Buffer): EpochDigest | null {
  const parsed = parse(digestSchema, value);
  return parsed && { epoch: parsed.epoch, digest: { recent: parsed.recent, buckets: parsed.buckets } };
}

/** What a key below {@link Keyspace.breakers} holds. */
export type BreakerKind = 'state' | 'override';

export function breakerKey(keys: Keyspace, kind: BreakerKind, key: BreakerKey): string {
  return keys.under(keys.breakers, kind, key.agentName, key.agentVersion, key.ability);
}

/** Prefix of all keys of one kind of an agent. */
export function breakerKeysOf(keys: Keyspace, kind: BreakerKind, agentName: string, version?: string): string {
  const parts = version === undefined ? [agentName] : [agentName, version];
  return `${keys.under(keys.breakers, kind, ...parts)}/`;
}

/** Kind and ability of a key; null for any other. */
export function parseBreakerKey(keys: Keyspace, etcdKey: string): { kind: BreakerKind; key: BreakerKey } | null {
  const [kind, agentName = '', agentVersion = '', ability = ''] = keys.partsUnder(keys.breakers, etcdKey, 4) ?? [];
  return kind === 'state' || kind === 'override' ? { kind, key: { agentName, agentVersion, ability } } : null;
}

export function windowKey(keys: Keyspace, processId: string, key: BreakerKey): string {
  return keys.under(keys.breakerWindows, processId, key.agentName, key.agentVersion, key.ability);
}

/** Process and ability of a digest's key; null for any other. */
export function parseWindowKey(keys: Keyspace, etcdKey: string): { processId: string; key: BreakerKey } | null {
  const parts = keys.partsUnder(keys.breakerWindows, etcdKey, 4);
  if (parts === null) return null;
  const [processId = '', agentName = '', agentVersion = '', ability = ''] = parts;
  return { processId, key: { agentName, agentVersion, ability } };
}

function parse<T>(schema: z.ZodType<T>, value: Buffer): T | null {
  try {
    return schema.safeParse(JSON.parse(value.toString('utf8'))).data ?? null;
  } catch {
    return null;
  }
}
