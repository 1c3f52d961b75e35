import { dotAt } from './vector-space';

/** So many leading dimensions give a first idea of nearness, at a third of the price for 384. */
const COARSE_DIMENSIONS = 128;

/** One vector per ability, row after row in one array, and the beginnings of all of them in another. */
export class Centroids {
  private readonly coarse: Float32Array;

  constructor(
    private readonly values: Float32Array,
    private readonly dimensions: number,
  ) {
    const width = Math.min(COARSE_DIMENSIONS, dimensions);
    const count = dimensions === 0 ? 0 : values.length / dimensions;
    this.coarse = new Float32Array(count * width);
    for (let row = 0; row < count; row++) {
      this.coarse.set(values.subarray(row * dimensions, row * dimensions + width), row * width);
    }
  }

  /** Dot products of the query with some rows. */
  scan(query: Float32Array, rows: Int32Array): Float32Array {
    return scanRows(query, rows, this.values);
  }

  /** The same over the leading dimensions only: enough to tell the near hundreds from the far thousands. */
  scanCoarsely(query: Float32Array, rows: Int32Array): Float32Array {
    return scanRows(query.subarray(0, Math.min(COARSE_DIMENSIONS, this.dimensions)), rows, this.coarse);
  }
}

function scanRows(query: Float32Array, rows: Int32Array, values: Float32Array): Float32Array {
  const width = query.length;
  const dots = new Float32Array(rows.length);
  for (let i = 0; i < dots.length; i++) dots[i] = dotAt(query, values, rows[i]! * width);
  return dots;
}
