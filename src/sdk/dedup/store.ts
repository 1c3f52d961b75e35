import { MIN_DEDUPLICATION_TTL_MS } from '../../protocol/deduplication';
import type {
  DeduplicationBegin,
  DeduplicationBeginAnswer,
  DeduplicationComplete,
  DeduplicationCompleteAnswer,
} from '../../protocol/deduplication';
import { ReachError } from '../../protocol/reach-error';

/**
 * Where an agent's instances remember what they have done (R4, R7). One key has one result for as long as it is kept;
 * implementations must pass the contract suite of this repository, and so must hold that
 *
 * - a recorded output is never replaced, whatever comes later;
 * - nothing is recorded by a fence that is smaller than one that has claimed or recorded the key;
 * - `begin` and `complete` are each one atomic step, whoever else is at the same key, and may be repeated;
 * - what was written is kept for at least `ttlMs`, and an unreachable store rejects within some seconds, never guesses.
 */
export interface DeduplicationStore {
  /** Largest output it keeps, bytes of compact JSON. Larger ones are not handed to it. */
  readonly maxOutputBytes: number;
  /** What is recorded under the key; with a fence, claims it for that attempt unless a greater fence holds it. */
  begin(request: DeduplicationBegin): Promise<DeduplicationBeginAnswer>;
  /** Makes the output the key's result, unless it has one or a greater fence holds the claim. */
  complete(request: DeduplicationComplete): Promise<DeduplicationCompleteAnswer>;
}

/**
 * How long results are kept, ms: the default is 24 h, which is also the least (R7).
 *
 * @param mostMs what the store allows
 * @throws ReachError `invalid_request`
 */
export function retentionMs(wantedMs: number = MIN_DEDUPLICATION_TTL_MS, mostMs = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(wantedMs) && wantedMs >= MIN_DEDUPLICATION_TTL_MS && wantedMs <= mostMs) return wantedMs;
  throw new ReachError(
    'invalid_request',
    `deduplicationTtlMs is ${wantedMs}; set whole milliseconds from ${MIN_DEDUPLICATION_TTL_MS} (24 h) to ${mostMs}`,
  );
}
