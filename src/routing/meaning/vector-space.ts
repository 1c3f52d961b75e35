import { SCRIPT_NAMES, scriptOf } from './language';

/** Texts nearest to a query that are averaged: one alone is noise, all of them blur (measured on 60 tickets). */
const NEAREST = 3;

/** Unit vectors of many texts in one `Float32Array`, with what is needed to compare them centred by language. */
export interface VectorRows {
  readonly dimensions: number;
  /** Row of a text, by its content. */
  readonly rowOf: ReadonlyMap<string, number>;
  readonly values: Float32Array;
  /** Index into SCRIPT_NAMES, by row. */
  readonly scripts: Uint8Array;
  /** Mean vector of each script (the mean of everything where a script has too few texts). */
  readonly means: readonly Float32Array[];
  /** 1 / |v − mean of its script|, by row. */
  readonly inverseNorms: Float32Array;
}

/** A query made ready: its raw vector, and itself centred and scaled to length 1. */
export interface CentredQuery {
  readonly raw: Float32Array;
  readonly centred: Float32Array;
  /** centred · mean, by script. */
  readonly meanDots: Float32Array;
}

/** Below this many texts of a script its mean says more about those texts than about the language. */
const MIN_TEXTS_FOR_MEAN = 12;

/** Dot product of `query` with the row of `values` that starts at `offset`; unrolled, it is the hot loop. */
export function dotAt(query: Float32Array, values: Float32Array, offset: number): number {
  const length = query.length;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let i = 0;
  for (; i + 3 < length; i += 4) {
    a += query[i]! * values[offset + i]!;
    b += query[i + 1]! * values[offset + i + 1]!;
    c += query[i + 2]! * values[offset + i + 2]!;
    d += query[i + 3]! * values[offset + i + 3]!;
  }
  for (; i < length; i++) a += query[i]! * values[offset + i]!;
  return a + b + c + d;
}

/** Lays out the vectors of `texts` as rows; duplicates are stored once. */
export function layOut(texts: readonly string[], vectors: readonly Float32Array[]): VectorRows {
  const dimensions = vectors[0]?.length ?? 0;
  const rowOf = new Map<string, number>();
  const values = new Float32Array(texts.length * dimensions);
  const scripts = new Uint8Array(texts.length);
  texts.forEach((text, position) => {
    if (rowOf.has(text)) return;
    const row = rowOf.size;
    rowOf.set(text, row);
    values.set(vectors[position]!, row * dimensions);
    scripts[row] = SCRIPT_NAMES.indexOf(scriptOf(text));
  });
  const means = scriptMeans({ dimensions, values, scripts, count: rowOf.size });
  const inverseNorms = Float32Array.from({ length: rowOf.size }, (_, row) =>
    inverse(distance(values.subarray(row * dimensions, (row + 1) * dimensions), means[scripts[row]!]!)),
  );
  return { dimensions, rowOf, values, scripts, means, inverseNorms };
}

function scriptMeans(rows: {
  dimensions: number;
  values: Float32Array;
  scripts: Uint8Array;
  count: number;
}): Float32Array[] {
  const { dimensions, values, scripts, count } = rows;
  const overall = new Float64Array(dimensions);
  const sums = SCRIPT_NAMES.map(() => new Float64Array(dimensions));
  const counts = SCRIPT_NAMES.map(() => 0);
  for (let row = 0; row < count; row++) {
    const sum = sums[scripts[row]!]!;
    counts[scripts[row]!]! += 1;
    for (let i = 0; i < dimensions; i++) {
      sum[i]! += values[row * dimensions + i]!;
      overall[i]! += values[row * dimensions + i]!;
    }
  }
  return sums.map((sum, script) => {
    const enough = counts[script]! >= MIN_TEXTS_FOR_MEAN;
    return Float32Array.from(enough ? sum : overall, (value) => value / Math.max(1, enough ? counts[script]! : count));
  });
}

function distance(vector: Float32Array, from: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += (vector[i]! - from[i]!) ** 2;
  return Math.sqrt(sum);
}

/** 1/x, and 0 where a vector has no length left: such a text is near to nothing rather than NaN. */
const inverse = (length: number): number => (length > 1e-9 ? 1 / length : 0);

/** Centres a query's vector on the mean of its own language. */
export function centreQuery(rows: VectorRows, text: string, raw: Float32Array): CentredQuery {
  const mean = rows.means[SCRIPT_NAMES.indexOf(scriptOf(text))]!;
  const scale = inverse(distance(raw, mean));
  const centred = Float32Array.from(raw, (value, i) => (value - mean[i]!) * scale);
  return { raw, centred, meanDots: Float32Array.from(rows.means, (other) => dotAt(centred, other, 0)) };
}

/** Cosine of a query and a stored text, both centred on their language's mean. */
export function centredCosine(rows: VectorRows, query: CentredQuery, row: number): number {
  const dot = dotAt(query.centred, rows.values, row * rows.dimensions);
  return (dot - query.meanDots[rows.scripts[row]!]!) * rows.inverseNorms[row]!;
}

/** Centroid of some rows, centred by language, of length 1. */
export function centroidOf(rows: VectorRows, members: readonly number[]): Float32Array {
  const centroid = new Float32Array(rows.dimensions);
  for (const row of members) {
    const mean = rows.means[rows.scripts[row]!]!;
    const scale = rows.inverseNorms[row]!;
    for (let i = 0; i < centroid.length; i++)
      centroid[i]! += (rows.values[row * rows.dimensions + i]! - mean[i]!) * scale;
  }
  const scale = inverse(Math.sqrt(dotAt(centroid, centroid, 0)));
  return centroid.map((value) => value * scale);
}

/** Mean centred cosine of the query's three nearest rows among `members`, of all when there are fewer; 0 of none. */
export function nearestMean(rows: VectorRows, query: CentredQuery, members: readonly number[]): number {
  const nearest = new Float64Array(NEAREST).fill(-Infinity);
  for (const row of members) insertLargest(nearest, centredCosine(rows, query, row));
  const count = Math.min(NEAREST, members.length);
  let sum = 0;
  for (let i = 0; i < count; i++) sum += nearest[i]!;
  return sum / Math.max(1, count);
}

/** Keeps the largest values seen, largest first. */
function insertLargest(largest: Float64Array, value: number): void {
  let i = largest.length - 1;
  if (value <= largest[i]!) return;
  for (; i > 0 && value > largest[i - 1]!; i--) largest[i] = largest[i - 1]!;
  largest[i] = value;
}
