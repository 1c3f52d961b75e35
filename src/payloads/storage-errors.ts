import { ReachError } from '../protocol/reach-error';

/** No room: nothing was kept, and nothing refers to what was not. */
export function storageFull(cause: unknown): ReachError {
  const message = 'The store of large payloads is full; free some space or send less, then try again';
  return new ReachError('storage_full', message, { cause, retryAfterMs: 5_000 });
}

/** The store does not answer, or refuses: an operator's matter, and the caller may try again. */
export function storeUnusable(what: string, cause: unknown): ReachError {
  const message = `The store of large payloads cannot ${what} (${errorCodeOf(cause) || 'unknown'}); see payloads.store`;
  return new ReachError('engine_unavailable', message, { cause, retryAfterMs: 1_000 });
}

/** The code or name by which Node and the AWS SDK tell errors apart; empty where there is none. */
export function errorCodeOf(caught: unknown): string {
  const { code, name } = (caught ?? {}) as { code?: unknown; name?: unknown };
  if (typeof code === 'string') return code;
  return typeof name === 'string' ? name : '';
}
