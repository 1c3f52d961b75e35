import type { AdmissionMark, BreakerOutcome, BreakerState } from '../../protocol/reliability';
import type { BreakerSettings } from './settings';

/**
 * The state of one breaker, shared by all processes. Plain data without clocks: whoever sees a phase for the first
 * time measures from then on by its own monotonic clock, so no wall clock decides anything (case T06).
 */
export interface BreakerRecord {
  readonly state: BreakerState;
  /** Identity of this stay in the state, for recovering of this step; empty while it has never tripped. */
  readonly phase: string;
  /** The phase in which it last became closed: what was counted under an earlier one counts no more. */
  readonly epoch: string;
  /** ISO 8601, for people only. */
  readonly since: string;
  /** Why it is in this state; when a probe is out, why it opened. */
  readonly reason: string;
  /** Index into `recoverySteps` while recovering, else 0. */
  readonly step: number;
  /** Successes in a row (bypass) or in this step (recovering). */
  readonly successes: number;
  /** Failures in this step (recovering). */
  readonly failures: number;
  /** Half-open: the probe is taken for lost after this many ms; else 0. */
  readonly probeMs: number;
  /** Open: the next probe need not wait for the interval, since the last one told nothing. */
  readonly probeDue: boolean;
}

/** What marks a new phase: an identity nobody else uses, and the wall clock for people. */
export interface PhaseStamp {
  phase: string;
  since: string;
}

/** What the transitions need besides the record. */
export interface BreakerRules {
  settings: BreakerSettings;
  stamp(): PhaseStamp;
}

/** The end of a call that was let through with a ticket. */
export interface TicketOutcome {
  phase: string;
  mark: AdmissionMark | null;
  outcome: BreakerOutcome;
}

/** What the counted calls prove about a closed or bypassed breaker. */
export interface Evidence {
  to: 'bypass' | 'open';
  /** For people: `6 of the last 10 calls failed`. */
  reason: string;
}

/** A breaker that has never tripped. */
export const NEVER_TRIPPED: BreakerRecord = Object.freeze({
  state: 'closed',
  phase: '',
  epoch: '',
  since: '',
  reason: '',
  step: 0,
  successes: 0,
  failures: 0,
  probeMs: 0,
  probeDue: false,
});
