import { SCRIPT_NAMES, scriptOf } from './language';

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
  /** Index into SCRIPT_NAMES. */
  readonly script: number;
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
  const script = SCRIPT_NAMES.indexOf(scriptOf(text));
  const mean = rows.means[script]!;
  const scale = inverse(distance(raw, mean));
  const centred = new Float32Array(raw.length);
  for (let i = 0; i < centred.length; i++) centred[i] = (raw[i]! - mean[i]!) * scale;
  return { raw, centred, script, meanDots: Float32Array.from(rows.means, (other) => dotAt(centred, other, 0)) };
}

/** Cosine of a query and a stored text, both centred on their language's mean. */
export function centredCosine(rows: VectorRows, query: CentredQuery, row: number): number {
  const dot = dotAt(query.centred, rows.values, row * rows.dimensions);
  return (dot - query.meanDots[rows.scripts[row]!]!) * rows.inverseNorms[row]!;
}

/** Adds `factor` times a stored text, centred and of length 1, to `sum`, which starts at `offset` of its array. */
export function addCentred(rows: VectorRows, row: number, into: { sum: Float32Array; offset: number; factor: number }) {
  const { sum, offset } = into;
  const mean = rows.means[rows.scripts[row]!]!;
  const scale = rows.inverseNorms[row]! * into.factor;
  const start = row * rows.dimensions;
  for (let i = 0; i < rows.dimensions; i++) sum[offset + i]! += (rows.values[start + i]! - mean[i]!) * scale;
}

/** Sum of stored vectors as they are. */
export function rawSum(rows: VectorRows, members: Int32Array): Float32Array {
  const sum = new Float32Array(rows.dimensions);
  for (const row of members) {
    const start = row * rows.dimensions;
    for (let i = 0; i < sum.length; i++) sum[i]! += rows.values[start + i]!;
  }
  return sum;
}

/** Length of a vector. */
export function lengthOf(vector: Float32Array): number {
  return Math.sqrt(dotAt(vector, vector, 0));
}
