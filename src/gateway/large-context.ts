/** Contexts with large values: their bodies and their answers. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express, { type RequestHandler, type Response } from 'express';
import { ReachError } from '../protocol/reach-error';

/** Names, versions and braces around the largest value. */
const AROUND_BYTES = 65_536;

/** The text of an answer that is too large to be put together in memory. */
export interface TextAnswer {
  /** Its length in UTF-8. */
  bytes: number;
  chunks(): AsyncIterable<Uint8Array>;
}

/** Whether a context comes as text. */
export function isTextAnswer(answer: object): answer is TextAnswer {
  return 'chunks' in answer;
}

/** Sends it as JSON, piece by piece. When the store breaks off, the announced length tells that something is missing. */
export async function sendText(response: Response, answer: TextAnswer): Promise<void> {
  response.type('application/json').setHeader('Content-Length', answer.bytes);
  await pipeline(Readable.from(answer.chunks(), { objectMode: false }), response).catch((caught: unknown) => {
    if (!response.destroyed) response.destroy(caught as Error);
  });
}

/**
 * The body of a batch as it came: as large as the largest value, with some room around it.
 *
 * @throws ReachError `payload_too_large` at `/operations`
 */
export function batchBody(maxValueBytes: number): RequestHandler {
  const limit = maxValueBytes + AROUND_BYTES;
  const read = express.raw({ type: () => true, limit });
  return (request, response, next) =>
    read(request, response, (caught: unknown) => next(isTooLarge(caught) ? tooLarge(limit) : caught));
}

function isTooLarge(caught: unknown): boolean {
  return (caught as { type?: string } | undefined)?.type === 'entity.too.large';
}

function tooLarge(limit: number): ReachError {
  const message = `must not take more than ${limit} bytes in one request`;
  const fix = 'write the fields in several requests, and keep what is larger elsewhere with a reference in the context';
  return new ReachError('payload_too_large', `/operations ${message}; ${fix}`, {
    errors: [{ pointer: '/operations', message, fix }],
    extra: { details: { limit_bytes: limit } },
  });
}
