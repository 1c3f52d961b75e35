/** Answers of agents that are kept as blobs, put back into the body of a result without being read. */
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { Payloads } from '../payloads';
import { parsePayloadRef, type OutputClaim } from '../protocol/payload-ref';
import type { ReachResult } from '../protocol/shapes';

/** Marks a result whose output is elsewhere; copied with the result, never serialised. */
const CLAIM = Symbol('large output');

/** The members by which a result says that its output is elsewhere. */
export function claimMembers(
  claim: OutputClaim | undefined,
): Pick<ReachResult, 'output_ref'> & { [CLAIM]?: OutputClaim } {
  return claim ? { output_ref: claim.ref, [CLAIM]: claim } : {};
}

/** Sends a body as JSON; where it is a result with a large output, with the output, and its `answer`, streamed into place. */
export async function sendResult(
  response: Response,
  body: object & { [CLAIM]?: OutputClaim },
  payloads: Pick<Payloads, 'stream'>,
): Promise<void> {
  const claim = body[CLAIM];
  if (!claim) {
    response.json(body);
    return;
  }
  const rest = { ...body, output: undefined };
  const parts = partsOf(JSON.stringify(rest), claim, payloads);
  // Whatever is wrong with the store shows now, while it can still be said in a problem document.
  const output = await payloads.stream(claim.ref);
  response.type('application/json').setHeader('Content-Length', parts.bytes);
  await streamTo(response, parts.after(output)).finally(() => output.destroy());
}

interface Parts {
  bytes: number;
  after(output: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

function partsOf(head: string, { ref, answer_at: at }: OutputClaim, payloads: Pick<Payloads, 'stream'>): Parts {
  const before = Buffer.from(`${head.slice(0, -1)},"output":`);
  const between = Buffer.from(at ? ',"answer":' : '');
  const after = Buffer.from('}');
  const bytes =
    before.length + (parsePayloadRef(ref)?.bytes ?? 0) + between.length + (at ? at[1] - at[0] : 0) + after.length;
  return {
    bytes,
    async *after(output) {
      yield before;
      yield* output;
      yield between;
      if (at) yield* await payloads.stream(ref, { start: at[0], end: at[1] });
      yield after;
    },
  };
}

/** Sends a blob as it is. */
export async function sendContent(response: Response, ref: string, payloads: Pick<Payloads, 'stream'>): Promise<void> {
  const content = await payloads.stream(ref);
  response.type('application/json').setHeader('Content-Length', parsePayloadRef(ref)?.bytes ?? 0);
  await streamTo(response, content).finally(() => content.destroy());
}

/** When nobody listens any more, or the store breaks off, the announced length tells that something is missing. */
async function streamTo(response: Response, content: AsyncIterable<Uint8Array>): Promise<void> {
  await pipeline(content, response).catch((caught: unknown) => {
    if (!response.destroyed) response.destroy(caught as Error);
  });
}
