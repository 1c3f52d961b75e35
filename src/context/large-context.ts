/** A context with large values as the text of its answer: what is in blobs goes by without being parsed. */
import { parsePayloadRef, type PayloadRef } from '../protocol/payload-ref';
import type { Json } from '../protocol/shapes';
import type { ClaimBlobs } from './batch-claims';
import type { Content, Piece, StoredField } from './stored';

/** Some text, or some bytes of a blob. */
type Segment = string | { ref: PayloadRef; start: number; end: number };

/** The text of an answer. */
export class LargeContext {
  /** Its length. */
  readonly bytes: number;
  private readonly segments: Segment[];

  constructor(
    contextId: string,
    fields: ReadonlyMap<string, StoredField>,
    private readonly blobs: ClaimBlobs,
  ) {
    const members = [...fields].map(([name, field]) => [`${JSON.stringify(name)}:`, ...fieldSegments(field)]);
    this.segments = [`{"context_id":${JSON.stringify(contextId)},"fields":{`, ...separated(members), '}}'];
    this.bytes = this.segments.reduce((sum, segment) => sum + lengthOf(segment), 0);
  }

  /** Piece by piece. @throws ReachError where the store breaks off */
  async *chunks(): AsyncGenerator<Uint8Array> {
    for (const segment of this.segments) {
      if (typeof segment === 'string') yield Buffer.from(segment);
      else yield* await this.blobs.stream(segment.ref, segment);
    }
  }
}

/** A field's value with its blobs read. @throws ReachError `not_found` */
export async function valueOf(content: Content, blobs: ClaimBlobs): Promise<Json> {
  if (content.kind === 'value') return content.value;
  if (content.kind === 'claim') return parsed(content.ref, blobs);
  const values: Json[] = [];
  for (const piece of content.pieces)
    for (const value of 'values' in piece ? piece.values : ((await parsed(piece.ref, blobs)) as Json[]))
      values.push(value);
  return values;
}

async function parsed(ref: PayloadRef, blobs: ClaimBlobs): Promise<Json> {
  return JSON.parse((await blobs.get(ref)).toString('utf8')) as Json;
}

function fieldSegments({ content, version, updated_at, updated_by }: StoredField): Segment[] {
  const stamp = JSON.stringify({ version, updated_at, updated_by });
  return ['{"value":', ...contentSegments(content), `,${stamp.slice(1)}`];
}

function contentSegments(content: Content): Segment[] {
  if (content.kind === 'value') return [JSON.stringify(content.value)];
  if (content.kind === 'claim') return [{ ref: content.ref, start: 0, end: bytesOf(content.ref) }];
  return ['[', ...separated(content.pieces.map(itemsOf).filter((items) => items.length > 0)), ']'];
}

/** The values of a piece without the brackets around them. */
function itemsOf(piece: Piece): Segment[] {
  if ('ref' in piece) return [{ ref: piece.ref, start: 1, end: bytesOf(piece.ref) - 1 }];
  return piece.values.length === 0 ? [] : [JSON.stringify(piece.values).slice(1, -1)];
}

function separated(all: readonly Segment[][]): Segment[] {
  return all.flatMap((segments, n) => (n === 0 ? segments : [',', ...segments]));
}

const bytesOf = (ref: PayloadRef): number => parsePayloadRef(ref)!.bytes;

function lengthOf(segment: Segment): number {
  return typeof segment === 'string' ? Buffer.byteLength(segment) : segment.end - segment.start;
}
