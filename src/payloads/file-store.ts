import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  link,
  mkdir,
  open,
  opendir,
  readFile,
  rename,
  rmdir,
  stat,
  unlink,
  utimes,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { ReachError } from '../protocol/reach-error';
import type { ObjectInfo, ObjectStore } from './object-store';
import { errorCodeOf, storageFull, storeUnusable } from './storage-errors';

/** Files being written, and files being removed, are kept apart from the others, so that no listing ever shows them. */
const SCRATCH = '.scratch';
/** Scratch files older than this were left by a process that died, ms. */
const SCRATCH_MS = 3_600_000;
/** No space, no quota, no larger file. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
/** Nobody is so unlucky as to meet more removals of one directory in a row. */
const PLACE_TRIES = 5;
const KEY = /^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*$/;

/**
 * Objects as files of one directory. A file is written aside, forced to the disk and renamed, so it is there whole or not at
 * all; its modification time is the mark of its last use. Processes on one machine may share the directory, and machines may
 * where it is on a network file system with atomic renames (NFSv4). Nothing is created before the first object is put.
 */
export class FileStore implements ObjectStore {
  readonly name: string;
  private readonly root: string;

  constructor(directory: string) {
    this.root = resolve(directory);
    this.name = `files in ${this.root}`;
  }

  async put(key: string, content: Uint8Array, { ifAbsent = false } = {}): Promise<boolean> {
    const path = this.pathOf(key);
    const scratch = this.scratchPath();
    return this.guarded('write', async () => {
      await mkdir(dirname(scratch), { recursive: true, mode: 0o700 });
      try {
        await writeDurably(scratch, content);
        await intoDirectory(path, () => (ifAbsent ? link(scratch, path) : rename(scratch, path)));
        await syncDirectory(dirname(path));
        return true;
      } catch (caught) {
        if (ifAbsent && isCode(caught, 'EEXIST')) return false;
        throw caught;
      } finally {
        await unlink(scratch).catch(() => undefined);
      }
    });
  }

  get(key: string): Promise<Buffer | null> {
    return this.guarded('read', () => absentAsNull(readFile(this.pathOf(key))));
  }

  async readInto(key: string, target: Uint8Array): Promise<number | null> {
    return this.guarded('read', async () => {
      const file = await absentAsNull(open(this.pathOf(key), 'r'));
      if (file === null) return null;
      try {
        let size = 0;
        for (let read = -1; read !== 0 && size < target.byteLength; size += read)
          read = (await file.read(target, size, target.byteLength - size)).bytesRead;
        return size;
      } finally {
        await file.close();
      }
    });
  }

  async stream(key: string, range?: { start: number; end: number }): Promise<Readable | null> {
    if (range && range.end <= range.start) return (await this.info(key)) && Readable.from([]);
    const file = await this.guarded('read', () => absentAsNull(open(this.pathOf(key), 'r')));
    // The file is open: what happens to its name from here on does not matter.
    return (
      file &&
      createReadStream('', {
        fd: file,
        highWaterMark: 262_144,
        ...(range && { start: range.start, end: range.end - 1 }),
      })
    );
  }

  async info(key: string): Promise<ObjectInfo | null> {
    const found = await this.guarded('read', () => absentAsNull(stat(this.pathOf(key))));
    return found && { key, bytes: found.size, usedMs: found.mtimeMs };
  }

  async touch(key: string, usedMs: number): Promise<boolean> {
    const path = this.pathOf(key);
    return this.guarded('write', async () => {
      const found = await absentAsNull(stat(path));
      if (found === null) return false;
      if (found.mtimeMs >= usedMs) return true;
      const at = new Date(usedMs);
      return (await absentAsNull(utimes(path, at, at).then(() => true))) ?? false;
    });
  }

  async *list(prefix: string): AsyncIterable<ObjectInfo> {
    yield* this.walk(prefix.replace(/\/+$/, ''));
  }

  /**
   * Removes by renaming first: whoever touched or put the file a moment ago finds it restored, and whoever comes after the
   * rename finds it gone and puts it again.
   */
  async delete(key: string, { unusedSinceMs = Infinity }: { unusedSinceMs?: number } = {}): Promise<boolean> {
    const path = this.pathOf(key);
    const aside = this.scratchPath();
    return this.guarded('remove', async () => {
      const found = await absentAsNull(stat(path));
      if (found === null || found.mtimeMs >= unusedSinceMs) return false;
      await mkdir(dirname(aside), { recursive: true, mode: 0o700 });
      if ((await absentAsNull(rename(path, aside).then(() => true))) === null) return false;
      const taken = await stat(aside);
      const wanted = taken.mtimeMs >= unusedSinceMs;
      if (wanted)
        await intoDirectory(path, () => link(aside, path)).catch((caught: unknown) => ignore(caught, 'EEXIST'));
      await unlink(aside);
      if (!wanted) await removeIfEmpty(dirname(path));
      return !wanted;
    });
  }

  close(): void {
    // Nothing is held between operations.
  }

  /** Removes what processes that died have left half written. */
  async removeScratch(nowMs: number): Promise<void> {
    const directory = join(this.root, SCRATCH);
    await this.guarded('remove', async () => {
      for await (const entry of await openDirectory(directory)) {
        const path = join(directory, entry.name);
        const found = await absentAsNull(stat(path));
        if (found && found.ctimeMs < nowMs - SCRATCH_MS) await absentAsNull(unlink(path));
      }
    });
  }

  private async *walk(key: string): AsyncIterable<ObjectInfo> {
    for await (const entry of this.entriesOf(this.pathOf(key))) {
      const child = `${key}/${entry.name}`;
      if (entry.isDirectory()) yield* this.walk(child);
      else {
        const found = await this.info(child);
        if (found) yield found;
      }
    }
  }

  private async *entriesOf(path: string): AsyncGenerator<{ name: string; isDirectory(): boolean }> {
    try {
      yield* await openDirectory(path);
    } catch (caught) {
      throw asStorageError('list', caught);
    }
  }

  private pathOf(key: string): string {
    if (!KEY.test(key)) throw new ReachError('internal', `${JSON.stringify(key)} is no key of an object`);
    return join(this.root, key);
  }

  private scratchPath(): string {
    return join(this.root, SCRATCH, randomUUID());
  }

  private async guarded<T>(what: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (caught) {
      throw asStorageError(what, caught);
    }
  }
}

function asStorageError(what: string, caught: unknown): ReachError {
  if (caught instanceof ReachError) return caught;
  return FULL.has(errorCodeOf(caught)) ? storageFull(caught) : storeUnusable(what, caught);
}

/** Puts a file where its directory may be missing, or be removed as empty by another process just now. */
async function intoDirectory(path: string, place: () => Promise<void>): Promise<void> {
  for (let triesLeft = PLACE_TRIES; ; triesLeft -= 1) {
    try {
      // Node itself fails with ENOENT when the directory goes between its own two looks at it.
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      return await place();
    } catch (caught) {
      if (triesLeft <= 1 || !isCode(caught, 'ENOENT')) throw caught;
    }
  }
}

/** Uploads have a directory each. Others may put something there, or remove it, at any moment. */
async function removeIfEmpty(directory: string): Promise<void> {
  await rmdir(directory).catch((caught: unknown) => ignore(caught, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'EBUSY'));
}

async function writeDurably(path: string, content: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** A rename survives a power cut once its directory is on the disk. */
async function syncDirectory(path: string): Promise<void> {
  let directory: FileHandle | undefined;
  try {
    directory = await open(path, 'r');
    await directory.sync();
  } catch (caught) {
    // Where directories cannot be synced, or where this one was removed: what was put there was taken away again.
    ignore(caught, 'EPERM', 'EISDIR', 'EINVAL', 'ENOENT');
  } finally {
    await directory?.close();
  }
}

async function openDirectory(path: string): Promise<AsyncIterable<{ name: string; isDirectory(): boolean }>> {
  return (await absentAsNull(opendir(path))) ?? nothing();
}

async function* nothing(): AsyncGenerator<never> {
  // no elements
}

function absentAsNull<T>(asked: Promise<T>): Promise<T | null> {
  return asked.catch((caught: unknown) => {
    ignore(caught, 'ENOENT', 'ENOTDIR');
    return null;
  });
}

function ignore(caught: unknown, ...codes: string[]): void {
  if (!codes.some((code) => isCode(caught, code))) throw caught;
}

const isCode = (caught: unknown, code: string): boolean => errorCodeOf(caught) === code;
