/**
 * What protects agents from floods and callers from broken agents, as plain types that rooms and histories share:
 * breakers (R28). Nothing here exists at run time.
 */

/** Where a circuit breaker stands. `half_open`: one probe is out; `recovering`: a growing share of the traffic passes. */
export type BreakerState = 'closed' | 'bypass' | 'open' | 'half_open' | 'recovering';

/** Why a call passes a breaker that is not closed; it is marked, and its outcome moves the breaker. */
export type AdmissionMark = 'bypass' | 'probe' | 'recovery';

/** An operator's word over the breaker's own. */
export interface BreakerOverride {
  state: 'open' | 'closed';
  reason: string;
  by: string;
  set_at: string;
  /** Null: until it is taken back. */
  expires_at: string | null;
}

/** The breaker of one ability of one version of an agent, as everybody sees it. */
export interface BreakerView {
  state: BreakerState;
  since: string;
  /** 0–1, over the window; 0 when nothing was called. */
  error_rate: number;
  /** Requests that the error rate is of. */
  requests: number;
  /** Share of the traffic that passes, 0–1. */
  share: number;
  reason?: string;
  override?: BreakerOverride;
}

/** Whom a breaker guards. */
export interface BreakerKey {
  agentName: string;
  agentVersion: string;
  ability: string;
}

/** What a router needs of a breaker: nothing is claimed by asking. */
export interface BreakerGate {
  /** Share of new traffic that may pass, 0–1. */
  share: number;
  /** Mark of what passes; null when closed. */
  mark: AdmissionMark | null;
  /** For people: `open since 12:03:01 UTC: 14 of 20 calls failed`. Empty when closed. */
  detail: string;
  /** When to try again, ms. */
  retryAfterMs: number;
  /** Where it stands, since when and by whose word, for diagnoses (R22). */
  state?: BreakerState;
  since?: string;
  by?: string;
  /** Held by hand: until when, null until it is taken back. Absent: by its own finding. */
  heldUntil?: string | null;
}

/** Breakers as routing asks them, without waiting. */
export interface BreakerLookup {
  gate(key: BreakerKey): BreakerGate;
  /** A decision has let a marked call pass. */
  admitted?(key: BreakerKey): void;
}

/** A call's leave to pass a breaker; plain data, since a pull agent's call is judged by another process than asked. */
export interface BreakerTicket {
  mark: AdmissionMark | null;
  /** Identity of the breaker's phase in which it was given: outcomes of an earlier phase change nothing. */
  phase: string;
}

/** How a call ended, as a breaker counts it. `neutral` says nothing about the agent (its 4xx, our own faults, cancelled). */
export type BreakerOutcome = 'ok' | 'failure' | 'neutral';
