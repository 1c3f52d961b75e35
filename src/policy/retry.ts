/**
 * Retries by error class (R26). One layer decides them: the caller of an adapter; adapters and HTTP clients
 * never retry by themselves.
 */
import { isTransient, type ErrorCode } from '../protocol/error-codes';
import type { DeliverySemantics } from '../protocol/shapes';

/** Base delay before the first retry, ms (R26). */
export const BACKOFF_BASE_MS = 100;
/** Each further retry waits twice as long (R26). */
export const BACKOFF_FACTOR = 2;
/** The delay is spread by ± this share (R26), so that callers that failed together do not return together. */
export const BACKOFF_JITTER = 0.5;

/** How many retries one agent may get: its own limit, or what is left of the tree's budget if that is less. */
export function retriesAllowed(maxRetry: number, treeLeft: number): number {
  return Math.max(0, Math.min(maxRetry, treeLeft));
}

/** Delay before retry number `retry` (1 for the first), ms, with `random` in [0, 1). */
export function backoffMs(retry: number, random: () => number): number {
  const base = BACKOFF_BASE_MS * BACKOFF_FACTOR ** (retry - 1);
  return Math.round(base * (1 - BACKOFF_JITTER + 2 * BACKOFF_JITTER * random()));
}

/** What is known of a failed attempt. */
export interface FailedAttempt {
  code: ErrorCode;
  /** Whether the agent may have seen the request. */
  received: 'no' | 'yes' | 'unknown';
  retryAfterMs?: number | undefined;
}

/** What the sender and the ability promise; decides whether a request may be sent again. */
export interface RetryTerms {
  semantics: DeliverySemantics;
  /** The ability's declaration: true, false, or null when it says nothing. */
  idempotent: boolean | null;
  /** Retries still allowed, this one included. */
  retriesLeft: number;
  /** What is left of the reach's time, ms. */
  leftMs: number;
}

/** Why no further attempt is made, or when the next one is due. */
export type RetryVerdict =
  | { retry: true; delayMs: number }
  | { retry: false; because: 'deterministic' | 'not_repeatable' | 'retries_used_up' | 'no_time' };

/** True when a request with this fate may be sent a second time without breaking the declared promise. */
export function mayRepeat(
  received: FailedAttempt['received'],
  terms: Pick<RetryTerms, 'semantics' | 'idempotent'>,
): boolean {
  if (terms.semantics === 'at_most_once') return false;
  return received === 'no' || terms.idempotent !== false;
}

/**
 * Decides about another attempt at the same agent. A wait that would end after the deadline is not begun:
 * failing at once leaves the caller time for something else (`Retry-After` counts as such a wait).
 */
export function nextAttempt(
  failed: FailedAttempt,
  terms: RetryTerms,
  retry: number,
  random: () => number,
): RetryVerdict {
  if (!isTransient(failed.code) && failed.code !== 'engine_unavailable')
    return { retry: false, because: 'deterministic' };
  if (!mayRepeat(failed.received, terms)) return { retry: false, because: 'not_repeatable' };
  if (terms.retriesLeft <= 0) return { retry: false, because: 'retries_used_up' };
  const delayMs = Math.max(backoffMs(retry, random), failed.retryAfterMs ?? 0);
  // Less than 2 ms after the wait would give the attempt a budget of nothing.
  return delayMs + 2 > terms.leftMs ? { retry: false, because: 'no_time' } : { retry: true, delayMs };
}

/**
 * `Retry-After` (RFC 9110 §10.2.3) as milliseconds: delta seconds or an HTTP date. Anything else, negative
 * or beyond a week is ignored, so a hostile header cannot park a reach.
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^\d{1,7}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(ms) && ms >= 0 && ms <= 604_800_000 ? Math.round(ms) : undefined;
}
