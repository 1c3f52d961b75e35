/** Where bytes are kept: a small set of operations on keys, so that every store of large payloads behaves alike. */
import type { Readable } from 'node:stream';

/** What is known of an object without reading it. */
export interface ObjectInfo {
  key: string;
  bytes: number;
  /** When it was last put or touched, Unix ms; in the future when somebody needs it until then. */
  usedMs: number;
}

/**
 * Objects under keys such as `blobs/ab/abcd…`: `/`-separated segments of `[a-z0-9._-]`. An object appears whole or not at
 * all, whoever looks, and is durable once `put` has resolved. Several processes may use one store at once.
 *
 * Every operation throws `ReachError` `storage_full` when there is no room, and `engine_unavailable` when the store cannot
 * be used at all.
 */
export interface ObjectStore {
  /** What it is and where, for logs and warnings; no credentials. */
  readonly name: string;
  /** Writes an object. With `ifAbsent`, false (and nothing is changed) when the key is taken. */
  put(key: string, content: Uint8Array, options?: { ifAbsent?: boolean }): Promise<boolean>;
  /** The whole content; null when there is none. */
  get(key: string): Promise<Buffer | null>;
  /** Reads an object of at most `target`'s size into it; how many bytes it has, null when there is none. */
  readInto(key: string, target: Uint8Array): Promise<number | null>;
  /** The content, or the bytes from `start` up to `end`, piece by piece; null when there is none. */
  stream(key: string, range?: { start: number; end: number }): Promise<Readable | null>;
  info(key: string): Promise<ObjectInfo | null>;
  /** Marks an object as used at `usedMs`, unless it is marked later already; false when there is none. */
  touch(key: string, usedMs: number): Promise<boolean>;
  /** Everything below a prefix that ends with `/`, in no order; what comes and goes meanwhile may be missed. */
  list(prefix: string): AsyncIterable<ObjectInfo>;
  /** Removes an object; with `unusedSinceMs` only if it was last used before. False when nothing was removed. */
  delete(key: string, options?: { unusedSinceMs?: number }): Promise<boolean>;
  close(): void;
}
