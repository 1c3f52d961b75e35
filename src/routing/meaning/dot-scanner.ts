import { dotAt } from './vector-space';

/**
 * Dot products of one query with many rows are what a decision among thousands spends its time on. WebAssembly computes
 * four at once, some ten times as fast as plain JavaScript. This is the whole module, assembled from:
 *
 *   (func (export "scan") (param $query i32) (param $rows i32) (param $count i32)
 *                         (param $values i32) (param $bytes i32) (param $out i32) (param $stride i32)
 *     ;; for each of $count row numbers at $rows: the f32 dot product of the $bytes at $query and those at
 *     ;; $values + row * $stride, written to $out. Two sums of four lanes each: $bytes is a multiple of 32.
 *     loop over rows: acc0 = acc1 = 0
 *       loop i over $bytes by 32: acc0 += query[i, 16] * row[i, 16]; acc1 += query[i + 16, 16] * row[i + 16, 16]
 *       out = sum of the lanes of acc0 + acc1)
 */
const MODULE_BASE64 =
  'AGFzbQEAAAABCwFgB39/f39/f38AAggBAW0BbQIAAAMCAQAHCAEEc2NhbgAACtABAc0BAgJ/AnsCQCACRQ0AA0AgAyABKAIAIAZsaiEH/QwAAAAAAAAAAAAAAAAAAAAAIQn9DAAAAAAAAAAAAAAAAAAAAAAhCkEAIQgDQCAJIAAgCGr9AAIAIAcgCGr9AAIA/eYB/eQBIQkgCiAAIAhq/QACECAHIAhq/QACEP3mAf3kASEKIAhBIGoiCCAESQ0ACyAJIAr95AEhCSAFIAn9HwAgCf0fAZIgCf0fApIgCf0fA5I4AgAgAUEEaiEBIAVBBGohBSACQQFrIgINAAsLCw==';

/** Addresses and sizes in bytes, in the order of the module's parameters. */
type Scan = (
  ...parameters: [
    query: number,
    rows: number,
    count: number,
    values: number,
    bytes: number,
    out: number,
    stride: number,
  ]
) => void;

/** What is used of it; the types of the language without those of browsers do not have it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Memory: new (size: { initial: number }) => WasmMemory;
  Instance: new (module: object, imports: { m: { m: WasmMemory } }) => { exports: { scan: Scan } };
};

interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

const FLOAT_BYTES = 4;
/** Floats that the inner loop takes at once: rows are padded to a multiple. */
const LANES = 8;
const PAGE_BYTES = 65_536;

let compiled: object | undefined;

/** Rows of numbers that queries are compared with. */
export class DotScanner {
  private readonly width: number;
  private readonly query: Float32Array;
  private readonly rows: Int32Array;
  private readonly out: Float32Array;
  private readonly values: Float32Array;
  private readonly scanFast: Scan | null;

  /** Room for `count` rows of `dimensions` numbers each; where there is no WebAssembly, JavaScript does it. */
  constructor(
    private readonly count: number,
    dimensions: number,
  ) {
    this.width = Math.max(LANES, Math.ceil(dimensions / LANES) * LANES);
    const floats = this.width * (count + 1) + 2 * count;
    const memory = memoryFor(floats * FLOAT_BYTES);
    const buffer = memory?.buffer ?? new ArrayBuffer(floats * FLOAT_BYTES);
    this.query = new Float32Array(buffer, 0, this.width);
    this.values = new Float32Array(buffer, this.query.byteLength, this.width * count);
    this.rows = new Int32Array(buffer, this.values.byteOffset + this.values.byteLength, count);
    this.out = new Float32Array(buffer, this.rows.byteOffset + this.rows.byteLength, count);
    this.scanFast = memory && scanIn(memory);
  }

  /** Writes one row. */
  set(row: number, vector: Float32Array): void {
    this.values.set(vector, row * this.width);
  }

  /** Dot products of `query` with `rows`, in their order, over the leading dimensions that the query has. */
  scan(query: Float32Array, rows: Int32Array): Float32Array {
    if (!this.scanFast || rows.length > this.count) return this.scanPlainly(query, rows);
    const width = Math.min(this.width, Math.ceil(query.length / LANES) * LANES);
    this.query.fill(0, query.length, width).set(query);
    this.rows.set(rows);
    const { query: q, rows: r, values: v, out: o } = this;
    const stride = this.width * FLOAT_BYTES;
    this.scanFast(q.byteOffset, r.byteOffset, rows.length, v.byteOffset, width * FLOAT_BYTES, o.byteOffset, stride);
    return this.out.slice(0, rows.length);
  }

  /** The same without WebAssembly. */
  scanPlainly(query: Float32Array, rows: Int32Array): Float32Array {
    const dots = new Float32Array(rows.length);
    for (let i = 0; i < dots.length; i++) dots[i] = dotAt(query, this.values, rows[i]! * this.width);
    return dots;
  }
}

/** Null where there is no WebAssembly with vectors, or no address space left for it. */
function memoryFor(bytes: number): WasmMemory | null {
  try {
    compiled ??= new WebAssembly.Module(Buffer.from(MODULE_BASE64, 'base64'));
    return new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES) });
  } catch {
    return null;
  }
}

function scanIn(memory: WasmMemory): Scan {
  const instance = new WebAssembly.Instance(compiled!, { m: { m: memory } });
  return instance.exports.scan;
}
