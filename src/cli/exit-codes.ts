import type { ReachError } from '../protocol/reach-error';

/** What the process ends with. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const;

/** The command line itself is wrong; nothing was sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Exit code of a coded failure: 3 when the platform cannot be reached, else 1. */
export function exitCodeOf(error: ReachError): number {
  return error.code === 'engine_unavailable' ? EXIT.unreachable : EXIT.failed;
}
