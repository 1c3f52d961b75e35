/**
 * The four sets that are reconciled after a run with faults, as plain data: what callers were promised (receipts, and
 * what they saw later), what Temporal recorded (runs), what the agents saw (journals), and the dead letters. Whoever
 * fills them in decides nothing: every judgement is in the checks.
 */
import type { DeliverySemantics, ReachStatus } from '../../../src/protocol/shapes';

/**
 * An answer that named a reach as this envelope's: a 2xx, or the problem with which it ended. From here on the reach may
 * not be lost.
 */
export interface Receipt {
  reach_id: string;
  key: string;
  /** Mark of the payload that the caller sent. */
  tag: string;
  /** HTTP status of the answer. */
  status: number;
  /** What the answer said of the reach. */
  reach_status: ReachStatus;
  /** It says that somebody had sent this key before. */
  replayed: boolean;
}

/** Where somebody may learn how a reach ended. */
export type Channel = 'post' | 'get' | 'list' | 'events' | 'dead_letters';

/** A terminal status as one channel told it. */
export interface Sighting {
  reach_id: string;
  channel: Channel;
  status: ReachStatus;
  /** Which work the result came from; null where the channel shows no result. */
  output_id: string | null;
  /** Whether it says that a fallback answered (R30); null where the channel does not tell. */
  degraded: boolean | null;
  /** False for what was seen while a redrive could still follow. */
  settled: boolean;
}

/** One recorded attempt. */
export interface RecordedAttempt {
  n: number;
  agent: string;
  received: 'no' | 'yes' | 'unknown';
  /** Null when it succeeded. */
  code: string | null;
}

/** One run of a reach's workflow, read from its history. */
export interface Run {
  reach_id: string;
  run_id: string;
  key: string;
  /** Digest of what it was started with. */
  fingerprint: string;
  /** Mark of the payload that it was started with; null where that is kept outside of the history. */
  tag: string | null;
  semantics: DeliverySemantics;
  /** The ability is declared `idempotent: true`, so that a lost worker may repeat an attempt without a trace. */
  idempotent: boolean;
  status: ReachStatus;
  code: string | null;
  /** How often one agent may be called (R26): once, and `max_retry` times more where the semantics allow. */
  attempts_allowed: number;
  /** Null where the way it ended records none (cancelled, timed out by the server). */
  attempts: RecordedAttempt[] | null;
  /**
   * What the fences of its attempts begin with. Several where the first workflow task was repeated: a fast path that
   * ran within a lost one gave its attempt an earlier fence.
   */
  fence_bases: string[];
  /**
   * For an idempotent ability: from when to when its first workflow task may have run, as fences begin, both included. The server
   * keeps no trace of a task that was lost more than once, nor tells one that lasted and was replayed by its beginning.
   */
  first_task?: { from: string; to: string };
  /** Which work the recorded result came from. */
  output_id: string | null;
  /** A fallback answered (R30). */
  degraded: boolean;
}

/** One request that an agent saw, written down before it did anything with it. */
export interface JournalEntry {
  agent: string;
  reach_id: string;
  key: string;
  /** Mark of the payload that it was given; null where the agent wrote none down. */
  tag: string | null;
  attempt: number;
  fence: string;
  /** Traffic that passed a breaker which was not closed. */
  bypass: boolean;
  /** It came by a queue: what was not acknowledged, because its agent was killed, is given out again within the same attempt. */
  queued?: true;
  /** Milliseconds; one clock for all entries. */
  arrived_ms: number;
  /** When it was answered or its connection broke; null when the agent was killed before. */
  left_ms: number | null;
  /** How it was answered: `ok`, an HTTP status, or `none`. */
  answer: string;
  /** The work was done, whatever became of the answer. */
  worked: boolean;
  /** Identifies this piece of work; it is part of the output. */
  output_id: string | null;
}

/** A dead letter as the API lists it: open, or given up by somebody. Those that were redriven are none any more. */
export interface DeadLetter {
  reach_id: string;
  state: 'open' | 'discarded';
}

/** What an agent may see at once. */
export interface AgentLimits {
  agent: string;
  /** Calls in flight (bulkhead); null where none was set. */
  permits: number | null;
  /** Retries in flight, {@link MAX_RETRIES_AT_ONCE} unless configured otherwise (R27). */
  retries: number;
  /** When its breaker was open: one probe at a time may pass (R28). */
  open_periods: { from_ms: number; to_ms: number }[];
}

/** Retries in flight that one agent may see (R27). */
export const MAX_RETRIES_AT_ONCE = 8;

/** Everything that is known after a run. */
export interface Recording {
  receipts: Receipt[];
  /** Keys of which some try got no answer, or one that leaves open whether it was accepted: any later one may be a repeat. */
  doubtful_keys: string[];
  sightings: Sighting[];
  /** Reaches whose stream of events was read after everything had ended; the other channels are read of every receipt. */
  streamed: string[];
  runs: Run[];
  journal: JournalEntry[];
  dead_letters: DeadLetter[];
  /** How many different failed runs of a reach somebody asked to redrive; pressing the button twice counts once. */
  redrives_asked: Record<string, number>;
  limits: AgentLimits[];
}

/** A broken promise. */
export interface Violation {
  rule: Rule;
  /** Null for what concerns an agent as a whole. */
  reach_id: string | null;
  /** One sentence with the evidence. */
  message: string;
}

/** What can be broken, by invariant: I1 (one end, nothing lost), I2 (one workflow, one result), the account of attempts, limits. */
export type Rule =
  | 'receipt_lost'
  | 'not_ended'
  | 'channel_silent'
  | 'status_differs'
  | 'result_differs'
  | 'degraded_unmarked'
  | 'dead_letter_missing'
  | 'dead_letter_of_a_success'
  | 'two_reaches_of_one_key'
  | 'too_many_runs'
  | 'two_results'
  | 'fingerprint_changed'
  | 'key_changed'
  | 'payload_changed'
  | 'replayed_untrue'
  | 'attempt_not_recorded'
  | 'attempt_counted_twice'
  | 'attempt_never_seen'
  | 'attempt_denied'
  | 'sent_again'
  | 'too_many_attempts'
  | 'acknowledged_before_work'
  | 'result_never_produced'
  | 'stale_result'
  | 'fence_order'
  | 'permits_exceeded'
  | 'retries_exceeded'
  | 'probe_herd';
