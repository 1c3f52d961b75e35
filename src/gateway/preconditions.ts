import type { Request } from 'express';
import { ReachError } from '../protocol/reach-error';

/** What must hold of a resource before it is written (RFC 9110 § 13.1); `any` is `*`. */
export interface Preconditions {
  ifMatch?: 'any' | readonly string[];
  ifNoneMatch?: 'any' | readonly string[];
}

const TAG = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** Reads `If-Match` and `If-None-Match`. @throws ReachError `invalid_request` for one that is blank or no list of tags */
export function preconditionsOf(request: Request): Preconditions {
  const ifMatch = tagsOf(request, 'if-match');
  const ifNoneMatch = tagsOf(request, 'if-none-match');
  return { ...(ifMatch && { ifMatch }), ...(ifNoneMatch && { ifNoneMatch }) };
}

function tagsOf(request: Request, name: 'if-match' | 'if-none-match'): 'any' | string[] | undefined {
  const value = request.headers[name];
  if (value === undefined) return undefined;
  if (value.trim() === '*') return 'any';
  const tags = value.split(',').map((tag) => tag.trim());
  if (tags.every((tag) => TAG.test(tag))) return tags;
  const message = `The header ${name} must be * or entity tags in quotes`;
  const fix = 'send the ETag that GET answered, quotes included, or leave the header out';
  throw new ReachError('invalid_request', `${message}; ${fix}`, { errors: [{ pointer: '', message, fix }] });
}

/**
 * Weak tags never match: what is written must be what was read, byte for byte (§ 8.8.3.2).
 * @throws ReachError `context_conflict` with `details.etag`, to be answered with 412
 */
export function assertHolds({ ifMatch, ifNoneMatch }: Preconditions, now: { etag: string; exists: boolean }): void {
  const matches = (tags: 'any' | readonly string[]) => (tags === 'any' ? now.exists : tags.includes(now.etag));
  if (ifMatch !== undefined && !matches(ifMatch)) throw failed('has changed since it was read', now.etag);
  if (ifNoneMatch !== undefined && matches(ifNoneMatch)) throw failed('is there already', now.etag);
}

/** Whether a reader has what it asks for already (304). Weak comparison, as reads ask for (§ 13.1.2). */
export function isKnown({ ifNoneMatch }: Preconditions, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch === 'any' || ifNoneMatch.some((tag) => tag.replace(/^W\//, '') === etag);
}

function failed(what: string, etag: string): ReachError {
  const message = `The route table ${what}, so nothing was written; read it (GET /v1/routes), merge your change into it, and PUT that with its ETag as If-Match`;
  return new ReachError('context_conflict', message, { extra: { details: { etag } } });
}

/** What a failed precondition is called: the code's own title speaks of contexts. */
export const PRECONDITION_TITLE = 'The route table is not the one that was to be replaced';

/** A precondition that did not hold, with the ETag there is now; null for any other error. */
export function conflictOf(caught: unknown): { error: ReachError; etag: string } | null {
  if (!(caught instanceof ReachError) || caught.code !== 'context_conflict') return null;
  const etag = caught.options.extra?.details?.etag;
  return typeof etag === 'string' ? { error: caught, etag } : null;
}
