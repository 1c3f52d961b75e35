/** Fallbacks (R30) at the rim: what stands in for an ability that nobody can take now. Pure. */
import { ERROR_TABLE } from '../protocol/error-codes';
import type { Envelope } from '../protocol/envelope';
import type { ReachError } from '../protocol/reach-error';
import type { Decision } from '../protocol/shapes';
import type { DeclaredFallback } from '../routing';

/** Only a refusal that is not the caller's fault may be stood in for. */
export function mayStandInFor({ code }: ReachError): boolean {
  const { class: errorClass } = ERROR_TABLE[code];
  return errorClass === 'transient' || errorClass === 'degraded';
}

/** The record of a decision for a fixed answer: who should have answered, and why it could not. */
export function fallbackDecision(
  envelope: Envelope,
  because: { declared: DeclaredFallback; refusal: ReachError; decisionId: string },
): Decision {
  return {
    decision_id: because.decisionId,
    at: new Date().toISOString(),
    ability: envelope.ability ?? because.declared.chosen.ability,
    ...(envelope.version !== undefined && { version: envelope.version }),
    group: envelope.group,
    strategy: 'fallback',
    chosen: { ...because.declared.chosen, score: 0 },
    confidence: 0,
    explored: false,
    candidates: [],
    excluded: [],
    excluded_count: 0,
    route_reason: `nobody can take it now: ${because.refusal.message}`,
  };
}
