import {
  isGrpcServiceError,
  ServiceError,
  type Client,
  WorkflowNotFoundError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ReachError } from '../protocol/reach-error';

/** How long one request to Temporal may take before the engine counts as unavailable, ms. */
export const ENGINE_TIMEOUT_MS = 5_000;

/** gRPC codes that mean that the server, not the request, is at fault (https://grpc.io/docs/guides/status-codes). */
const ENGINE_DOWN = new Set([1, 2, 4, 8, 13, 14]);
const CANCELLED = 1;
const DEADLINE_EXCEEDED = 4;
const INVALID_ARGUMENT = 3;

/** What a request that is late all the same is given up with. */
class EngineSilent extends Error {}
/** The deadline's own error, which says more, comes first when it comes at all. */
const DEADLINE_SLACK_MS = 250;

/**
 * Runs requests to Temporal that must all be answered within `limitMs`. The native client bounds each try by the deadline,
 * but goes on trying for ten seconds when the server is away; a caller is better served by a prompt 503. What was given
 * up may still arrive, as with any lost answer.
 */
export async function bounded<T>(client: Client, run: () => Promise<T>, limitMs = ENGINE_TIMEOUT_MS): Promise<T> {
  const until = new Date();
  until.setMilliseconds(until.getMilliseconds() + limitMs);
  const answer = client.connection.withDeadline(until, run);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new EngineSilent(`no answer within ${limitMs} ms`)), limitMs + DEADLINE_SLACK_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** True when a wait simply ended: its deadline passed, nothing failed. The native connection says so as CANCELLED. */
export function isWaitOver(caught: unknown): boolean {
  if (caught instanceof EngineSilent) return true;
  const error = grpcErrorIn(caught);
  return error?.code === DEADLINE_EXCEEDED || (error?.code === CANCELLED && /timeout expired/i.test(error.message));
}

/** The gRPC error behind what the client throws, which wraps it once or twice. */
function grpcErrorIn(caught: unknown): (Error & { code: number }) | null {
  if (isGrpcServiceError(caught)) return caught;
  return caught instanceof ServiceError && caught.cause !== undefined ? grpcErrorIn(caught.cause) : null;
}

/**
 * Turns what the Temporal client throws into our codes; anything unknown stays `internal`.
 *
 * @param what for people: what was being done
 */
export function fromTemporal(caught: unknown, what: string): ReachError {
  if (caught instanceof ReachError) return caught;
  if (caught instanceof WorkflowNotFoundError) return notFound();
  if (caught instanceof WorkflowUpdateRPCTimeoutOrCancelledError || caught instanceof EngineSilent)
    return engineDown(what, caught);
  const cause = grpcErrorIn(caught);
  if (cause !== null) {
    if (ENGINE_DOWN.has(cause.code)) return engineDown(what, caught);
    if (cause.code === INVALID_ARGUMENT)
      return new ReachError('invalid_request', `Temporal refused the request to ${what}`, { cause: caught });
  }
  if (caught instanceof Error && /connect|transport|closed/i.test(caught.message)) return engineDown(what, caught);
  return new ReachError('internal', 'An unexpected error; the log has it under this request id', { cause: caught });
}

function engineDown(what: string, cause: unknown): ReachError {
  return new ReachError('engine_unavailable', `Temporal cannot be reached to ${what}; try again`, {
    retryAfterMs: 1_000,
    cause,
  });
}

/**
 * What is said of a start that failed: it may or may not have reached the server.
 *
 * @param about `doing` as in {@link fromTemporal}; `said`: what was not confirmed, and how it is tried again safely
 */
export function unconfirmed(caught: unknown, { doing, said }: { doing: string; said: string }): ReachError {
  const error = fromTemporal(caught, doing);
  if (error.code !== 'engine_unavailable') return error;
  return new ReachError('engine_unavailable', `Temporal did not confirm ${said}`, {
    retryAfterMs: 1_000,
    cause: caught,
  });
}

/** The one answer for ids that do not exist and ids of other tenants. */
export function notFound(): ReachError {
  return new ReachError('not_found', 'There is no reach with this id; it may have passed its retention');
}
