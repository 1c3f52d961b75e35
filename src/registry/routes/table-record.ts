import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { FormerRoute, RouteEntry } from '../../protocol/route-table';
import { encodeRecord } from '../records';

/** What etcd keeps of the table: the routes, and whom those bore most that were taken out. */
export interface TableRecord {
  entries: readonly RouteEntry[];
  former: readonly FormerRoute[];
}

const schema = z.object({
  v: z.literal(1),
  routes: z.array(z.tuple([z.string(), z.string(), z.string(), z.number().int().min(0)])),
  former: z.array(z.tuple([z.string(), z.string(), z.string()])).default([]),
});

/** Larger ones are kept compressed: etcd takes 1.5 MiB, and ten thousand routes may have more. */
const PLAIN_BYTES = 262_144;
const GZIP_MAGIC = 0x1f;
/** More than ten thousand routes with the longest names take. */
const MAX_INFLATED_BYTES = 33_554_432;

/** The value of the table's key. */
export function encodeTable({ entries, former }: TableRecord): Buffer {
  const plain = Buffer.from(
    encodeRecord({
      routes: entries.map(({ ability, from, to, weight }) => [ability, from, to, weight]),
      former: former.map(({ ability, from, to }) => [ability, from, to]),
    }),
  );
  return plain.byteLength > PLAIN_BYTES ? gzipSync(plain) : plain;
}

/** Null for a value that cannot be read. */
export function decodeTable(value: Buffer): TableRecord | null {
  try {
    const plain = value[0] === GZIP_MAGIC ? gunzipSync(value, { maxOutputLength: MAX_INFLATED_BYTES }) : value;
    const { routes, former } = schema.parse(JSON.parse(plain.toString('utf8')));
    return {
      entries: routes.map(([ability, from, to, weight]) => Object.freeze({ ability, from, to, weight })),
      former: former.map(([ability, from, to]) => ({ ability, from, to })),
    };
  } catch {
    return null;
  }
}

/** A strong validator (RFC 9110 § 8.8.3) of what the table says: the same routes in the same order have the same. */
export function etagOf(entries: readonly RouteEntry[]): string {
  const told = JSON.stringify(entries.map(({ ability, from, to, weight }) => [ability, from, to, weight]));
  return `"${createHash('sha256').update(told).digest('hex').slice(0, 32)}"`;
}
