/** A place in the order of decisions, and cursors that name one. */
import { ReachError } from '../protocol/reach-error';

/** Where a decision stands: by its time, and at the same instant by its id. */
export interface Place {
  at: string;
  decision_id: string;
}

/** Newest first. Negative: `a` comes before `b`. */
export function newerFirst(a: Place, b: Place): number {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1;
  if (a.decision_id === b.decision_id) return 0;
  return a.decision_id < b.decision_id ? 1 : -1;
}

/** The cursor behind a place. */
export function cursorOf({ at, decision_id }: Place): string {
  return Buffer.from(`${at} ${decision_id}`).toString('base64url');
}

/** @throws ReachError `invalid_request` */
export function placeOf(cursor: string): Place {
  const [at = '', decision_id = '', ...rest] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  const isInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at) && Number.isFinite(Date.parse(at));
  if (isInstant && rest.length === 0 && /^[A-Za-z0-9_.~-]{1,128}$/.test(decision_id)) return { at, decision_id };
  throw new ReachError('invalid_request', 'The cursor is not one that this list gave out; begin again without it', {
    errors: [{ pointer: '/cursor', message: 'is not valid', fix: 'use next_cursor of the page before, unchanged' }],
  });
}
