/** Rows by hash, the least recently used making room for new ones. */
const SLAB_ROWS = 1024;
const BYTES_PER_NUMBER = Float32Array.BYTES_PER_ELEMENT;

/**
 * Vectors by hash in a few large arrays: a vector is a row, not an object, so a hundred thousand of them cost their
 * numbers and a map entry each. All are of one length; those of another are not kept.
 */
export class VectorTable {
  /** Row of a hash, in the order of use. The key is the hash's 32 bytes as characters, half as long as in hex. */
  private readonly rowOf = new Map<string, number>();
  private readonly slabs: Float32Array[] = [];
  private dimensions = 0;
  /** Until the first vector shows how long they are, whatever is asked for. */
  private capacity: number;

  /** Above either limit the least recently used go; one is always kept. */
  constructor(private readonly limits: { maxEntries: number; maxBytes: number }) {
    this.capacity = limits.maxEntries;
  }

  /** A copy, so that it stays what it is when its row is used again. */
  get(hash: string): Float32Array | undefined {
    const key = shortKey(hash);
    const row = this.rowOf.get(key);
    if (row === undefined) return undefined;
    this.rowOf.delete(key);
    this.rowOf.set(key, row);
    return this.viewOf(row).slice();
  }

  set(hash: string, vector: Float32Array): void {
    if (this.dimensions === 0) this.fit(vector.length);
    if (vector.length !== this.dimensions) return;
    const key = shortKey(hash);
    const row = this.rowOf.get(key) ?? this.freeRow();
    this.rowOf.delete(key);
    this.rowOf.set(key, row);
    this.viewOf(row).set(vector);
  }

  /** All vectors, the most recently used first, but those that go before they are asked for: it may be read in turns. */
  *newestFirst(): Iterable<{ hash: string; vector: Float32Array }> {
    for (const key of [...this.rowOf.keys()].reverse()) {
      const row = this.rowOf.get(key);
      if (row === undefined) continue;
      yield { hash: Buffer.from(key, 'latin1').toString('hex'), vector: this.viewOf(row).slice() };
    }
  }

  private fit(dimensions: number): void {
    const { maxEntries, maxBytes } = this.limits;
    this.dimensions = dimensions;
    this.capacity = Math.max(1, Math.min(maxEntries, Math.floor(maxBytes / (dimensions * BYTES_PER_NUMBER))));
  }

  private freeRow(): number {
    if (this.rowOf.size < this.capacity) return this.rowOf.size;
    const [oldest, row] = this.rowOf.entries().next().value!;
    this.rowOf.delete(oldest);
    return row;
  }

  private viewOf(row: number): Float32Array {
    const { dimensions } = this;
    const slab = (this.slabs[Math.floor(row / SLAB_ROWS)] ??= new Float32Array(SLAB_ROWS * dimensions));
    const start = (row % SLAB_ROWS) * dimensions;
    return slab.subarray(start, start + dimensions);
  }
}

function shortKey(hash: string): string {
  return Buffer.from(hash, 'hex').toString('latin1');
}
