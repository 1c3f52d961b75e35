import { isGrpcServiceError, ServiceError, type Client, WorkflowNotFoundError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { ReachError } from '../protocol/reach-error';

/** How long one request to Temporal may take before the engine counts as unavailable, ms. */
export const ENGINE_TIMEOUT_MS = 5_000;

/** gRPC codes that mean that the server, not the request, is at fault (https://grpc.io/docs/guides/status-codes). */
const ENGINE_DOWN = new Set([1, 2, 4, 8, 13, 14]);
const CANCELLED = 1;
const DEADLINE_EXCEEDED = 4;
const INVALID_ARGUMENT = 3;

/**
 * Runs requests to Temporal that must all be answered within `limitMs`: the native client would go on trying for ten
 * seconds, and a caller is better served by a prompt 503.
 */
export function bounded<T>(client: Client, run: () => Promise<T>, limitMs = ENGINE_TIMEOUT_MS): Promise<T> {
  const until = new Date();
  until.setMilliseconds(until.getMilliseconds() + limitMs);
  return client.connection.withDeadline(until, run);
}

/** True when a wait simply ended: its deadline passed, nothing failed. The native connection says so as CANCELLED. */
export function isWaitOver(caught: unknown): boolean {
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
  if (caught instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return engineDown(what, caught);
  const cause = grpcErrorIn(caught);
  if (cause !== null) {
    if (ENGINE_DOWN.has(cause.code)) return engineDown(what, caught);
    if (cause.code === INVALID_ARGUMENT) return new ReachError('invalid_request', `Temporal refused the request to ${what}`, { cause: caught });
  }
  if (caught instanceof Error && /connect|transport|closed/i.test(caught.message)) return engineDown(what, caught);
  return new ReachError('internal', 'An unexpected error; the log has it under this request id', { cause: caught });
}

function engineDown(what: string, cause: unknown): ReachError {
  return new ReachError('engine_unavailable', `Temporal cannot be reached to ${what}; try again`, { retryAfterMs: 1_000, cause });
}

/** The one answer for ids that do not exist and ids of other tenants. */
export function notFound(): ReachError {
  return new ReachError('not_found', 'There is no reach with this id; it may have passed its retention');
}
