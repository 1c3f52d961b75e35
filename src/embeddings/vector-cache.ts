import { createHash } from 'node:crypto';
import { VectorFile } from './vector-file';
import { VectorTable } from './vector-table';

export interface VectorCacheOptions {
  /** Vectors differ by model (and by its settings), so the key has them. */
  model: string;
  /** Append-only file under the data dir; without it vectors live in memory only. */
  file?: string;
  /** Vectors in memory, the least recently used go first. Default 100,000 (150 MB of 384 dimensions, when full). */
  maxEntries?: number;
  /** Memory that they may take, bytes: what limits those of many dimensions. Default 256 MiB, as the file. */
  maxBytes?: number;
  /** Size of the file, bytes. Default 256 MiB. */
  maxFileBytes?: number;
}

const MAX_BYTES = 256 * 1_048_576;

/** Vectors by the SHA-256 of model and text: in memory, and on disk so that a restart need not compute them again. */
export class VectorCache {
  private readonly model: string;
  private readonly entries: VectorTable;
  private readonly file: VectorFile | null;
  private loading: Promise<void> | null = null;

  constructor({
    model,
    file,
    maxEntries = 100_000,
    maxBytes = MAX_BYTES,
    maxFileBytes = MAX_BYTES,
  }: VectorCacheOptions) {
    this.model = model;
    this.entries = new VectorTable({ maxEntries, maxBytes });
    this.file = file === undefined ? null : new VectorFile(file, maxFileBytes);
  }

  /** Reads the file once; a file that cannot be read counts as empty, for a cache must not stop anybody. */
  load(): Promise<void> {
    this.loading ??= this.readFile();
    return this.loading;
  }

  get(text: string): Float32Array | undefined {
    return this.entries.get(this.hashOf(text));
  }

  /** Keeps the vectors; the file is written behind, and its failure is no failure of the caller's. */
  set(texts: readonly string[], vectors: readonly Float32Array[]): void {
    const records = texts.map((text, i) => ({ hash: this.hashOf(text), vector: vectors[i]! }));
    for (const { hash, vector } of records) this.entries.set(hash, vector);
    this.file?.append(records, () => this.entries.newestFirst()).catch(() => undefined);
  }

  /** Waits for what is still being written. */
  async close(): Promise<void> {
    await this.file?.close();
  }

  private async readFile(): Promise<void> {
    await this.file?.load(({ hash, vector }) => this.entries.set(hash, vector)).catch(() => undefined);
  }

  private hashOf(text: string): string {
    return createHash('sha256').update(`${this.model}\u0000${text}`).digest('hex');
  }
}
