import { open, readFile, rename, truncate, mkdir, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';

const HASH_BYTES = 32;
/** hash, number of dimensions (uint16), vector (float32 little-endian each), CRC-32 of all before. */
const OVERHEAD_BYTES = HASH_BYTES + 2 + 4;
const MAX_DIMENSIONS = 16_384;

/** A vector under the hex SHA-256 of its model and text. */
export interface StoredVector {
  hash: string;
  vector: Float32Array;
}

/**
 * Vectors on disk, in one append-only file that several processes may append to. It is a cache: what a crash has
 * torn or a disk has spoilt is cut off at the first bad record, and a file that has grown too large starts anew.
 */
export class VectorFile {
  private bytes = 0;
  private handle: FileHandle | null = null;
  private writing: Promise<void> = Promise.resolve();

  /** @param maxBytes above it the file is written anew with the vectors given to {@link append} then. */
  constructor(
    private readonly path: string,
    private readonly maxBytes: number,
  ) {}

  /** All sound records, oldest first; an absent file has none. */
  async load(): Promise<StoredVector[]> {
    const content = await readFile(this.path).catch(() => Buffer.alloc(0));
    const { records, soundBytes } = readRecords(content);
    if (soundBytes < content.length) await truncate(this.path, soundBytes);
    this.bytes = soundBytes;
    return records;
  }

  /** Appends records. `keep` says what to start anew with when the file would grow too large. */
  append(records: StoredVector[], keep: () => Iterable<StoredVector>): Promise<void> {
    this.writing = this.writing.then(() => this.write(records, keep));
    return this.writing;
  }

  async close(): Promise<void> {
    await this.writing.catch(() => undefined);
    await this.handle?.close();
    this.handle = null;
  }

  private async write(records: StoredVector[], keep: () => Iterable<StoredVector>): Promise<void> {
    const block = Buffer.concat(records.map(toRecord));
    if (this.bytes + block.length > this.maxBytes) return this.startAnew(keep());
    this.handle ??= await this.openForAppend(this.path);
    await this.handle.appendFile(block);
    this.bytes += block.length;
  }

  /** Half of the limit at most, newest first, so that the next rewrite is far away. */
  private async startAnew(newestFirst: Iterable<StoredVector>): Promise<void> {
    const blocks: Buffer[] = [];
    let bytes = 0;
    for (const record of newestFirst) {
      const block = toRecord(record);
      if (bytes + block.length > this.maxBytes / 2) break;
      blocks.unshift(block);
      bytes += block.length;
    }
    await this.handle?.close();
    this.handle = null;
    const fresh = await this.openForAppend(`${this.path}.new`);
    await fresh.truncate(0);
    await fresh.appendFile(Buffer.concat(blocks));
    await fresh.close();
    await rename(`${this.path}.new`, this.path);
    this.bytes = bytes;
  }

  private async openForAppend(path: string): Promise<FileHandle> {
    await mkdir(dirname(path), { recursive: true });
    return open(path, 'a', 0o600);
  }
}

function toRecord({ hash, vector }: StoredVector): Buffer {
  const record = Buffer.alloc(OVERHEAD_BYTES + vector.length * 4);
  record.write(hash, 0, HASH_BYTES, 'hex');
  record.writeUInt16LE(vector.length, HASH_BYTES);
  vector.forEach((value, i) => record.writeFloatLE(value, HASH_BYTES + 2 + i * 4));
  record.writeUInt32LE(crc32(record.subarray(0, -4)), record.length - 4);
  return record;
}

function readRecords(content: Buffer): { records: StoredVector[]; soundBytes: number } {
  const records: StoredVector[] = [];
  let offset = 0;
  while (offset + OVERHEAD_BYTES <= content.length) {
    const dimensions = content.readUInt16LE(offset + HASH_BYTES);
    const end = offset + OVERHEAD_BYTES + dimensions * 4;
    if (dimensions > MAX_DIMENSIONS || end > content.length) break;
    if (crc32(content.subarray(offset, end - 4)) !== content.readUInt32LE(end - 4)) break;
    const vector = Float32Array.from({ length: dimensions }, (_, i) =>
      content.readFloatLE(offset + HASH_BYTES + 2 + i * 4),
    );
    records.push({ hash: content.toString('hex', offset, offset + HASH_BYTES), vector });
    offset = end;
  }
  return { records, soundBytes: offset };
}
