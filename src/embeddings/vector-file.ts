import { open, readFile, rename, truncate, mkdir, type FileHandle } from 'node:fs/promises';
import { endianness } from 'node:os';
import { dirname } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { crc32 } from 'node:zlib';

const HASH_BYTES = 32;
/** hash, number of dimensions (uint16), vector (float32 little-endian each), CRC-32 of all before. */
const OVERHEAD_BYTES = HASH_BYTES + 2 + 4;
const MAX_DIMENSIONS = 16_384;
/** Records handled before the others of this process, who have leases to renew, get a turn: a few milliseconds of work. */
const RECORDS_AT_ONCE = 1_000;

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

  /** Hands over all sound records, oldest first; an absent file has none. Lets others run while it reads. */
  async load(take: (record: StoredVector) => void): Promise<void> {
    const content = await readFile(this.path).catch(() => Buffer.alloc(0));
    const soundBytes = await readRecords(content, take);
    if (soundBytes < content.length) await truncate(this.path, soundBytes);
    this.bytes = soundBytes;
  }

  /**
   * Appends records; when that fails they are missing, and later ones are written all the same. `keep` says what to start anew
   * with when the file would grow too large; it is read in turns, between which others run.
   */
  append(records: StoredVector[], keep: () => Iterable<StoredVector>): Promise<void> {
    this.writing = this.writing.catch(() => undefined).then(() => this.write(records, keep));
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
    await appendWhole(this.handle, block);
    this.bytes += block.length;
  }

  /** Half of the limit at most, newest first, so that the next rewrite is far away. */
  private async startAnew(newestFirst: Iterable<StoredVector>): Promise<void> {
    const blocks: Buffer[] = [];
    let bytes = 0;
    for (const record of newestFirst) {
      const block = toRecord(record);
      if (bytes + block.length > this.maxBytes / 2) break;
      blocks.push(block);
      bytes += block.length;
      if (blocks.length % RECORDS_AT_ONCE === 0) await breathe();
    }
    await this.handle?.close();
    this.handle = null;
    await this.replaceWith(blocks.reverse());
    this.bytes = bytes;
  }

  private async replaceWith(blocks: readonly Buffer[]): Promise<void> {
    const fresh = await this.openForAppend(`${this.path}.new`);
    try {
      await fresh.truncate(0);
      for (let start = 0; start < blocks.length; start += RECORDS_AT_ONCE)
        await fresh.appendFile(Buffer.concat(blocks.slice(start, start + RECORDS_AT_ONCE)));
    } finally {
      await fresh.close();
    }
    await rename(`${this.path}.new`, this.path);
  }

  private async openForAppend(path: string): Promise<FileHandle> {
    await mkdir(dirname(path), { recursive: true });
    return open(path, 'a', 0o600);
  }
}

/** A block that was written in part is taken back: nobody would read what came after it. */
async function appendWhole(handle: FileHandle, block: Buffer): Promise<void> {
  const { size } = await handle.stat();
  try {
    await handle.appendFile(block);
  } catch (cause) {
    await handle.truncate(size).catch(() => undefined);
    throw cause;
  }
}

function toRecord({ hash, vector }: StoredVector): Buffer {
  const record = Buffer.alloc(OVERHEAD_BYTES + vector.length * 4);
  record.write(hash, 0, HASH_BYTES, 'hex');
  record.writeUInt16LE(vector.length, HASH_BYTES);
  record.set(inLittleEndian(bytesOf(vector)), HASH_BYTES + 2);
  record.writeUInt32LE(crc32(record.subarray(0, -4)), record.length - 4);
  return record;
}

/** Answers how many bytes were sound. */
async function readRecords(content: Buffer, take: (record: StoredVector) => void): Promise<number> {
  let offset = 0;
  let count = 0;
  while (offset + OVERHEAD_BYTES <= content.length) {
    const dimensions = content.readUInt16LE(offset + HASH_BYTES);
    const end = offset + OVERHEAD_BYTES + dimensions * 4;
    if (dimensions > MAX_DIMENSIONS || end > content.length) break;
    if (crc32(content.subarray(offset, end - 4)) !== content.readUInt32LE(end - 4)) break;
    const vector = new Float32Array(dimensions);
    bytesOf(vector).set(inLittleEndian(content.subarray(offset + HASH_BYTES + 2, end - 4)));
    take({ hash: content.toString('hex', offset, offset + HASH_BYTES), vector });
    offset = end;
    count += 1;
    if (count % RECORDS_AT_ONCE === 0) await breathe();
  }
  return offset;
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Numbers of four bytes from this machine's order to the file's, or back. */
function inLittleEndian(numbers: Buffer): Buffer {
  return endianness() === 'LE' ? numbers : Buffer.from(numbers).swap32();
}
