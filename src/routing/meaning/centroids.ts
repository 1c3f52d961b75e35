import { DotScanner } from './dot-scanner';
import { breathe } from './slices';
import type { Whitening } from './whitening';

/** So many leading dimensions give a first idea of nearness, at a third of the price for 384. */
const COARSE_DIMENSIONS = 128;
/** Rows whitened in one go, some 5 ms. */
const BREATH = 64;

/** One vector per ability. */
export class Centroids {
  private constructor(private readonly scanner: DotScanner) {}

  /** Whitens the means of all abilities. Lets others run in between: thousands take seconds. */
  static async of(means: Float32Array, whitening: Whitening): Promise<Centroids> {
    const { dimensions } = whitening;
    const count = dimensions === 0 ? 0 : means.length / dimensions;
    const scanner = new DotScanner(count, dimensions);
    for (let row = 0; row < count; row++) {
      scanner.set(row, whitening.apply(means.subarray(row * dimensions, (row + 1) * dimensions)));
      if (row % BREATH === BREATH - 1) await breathe();
    }
    return new Centroids(scanner);
  }

  /** Dot products of the query with some rows. */
  scan(query: Float32Array, rows: Int32Array): Float32Array {
    return this.scanner.scan(query, rows);
  }

  /** The same over the leading dimensions only: enough to tell the near hundreds from the far thousands. */
  scanCoarsely(query: Float32Array, rows: Int32Array): Float32Array {
    return this.scanner.scan(query.subarray(0, COARSE_DIMENSIONS), rows);
  }
}
