/** What is kept of a decision, so that it can be explained and made again under other circumstances (R23). */
import type { LoggedDecision } from '../../protocol/logged-decision';
import type { Decision } from '../../protocol/shapes';
import { toGroup } from '../ability-index';
import { compareByMeaning } from '../comparison';
import { toDecision } from '../decision';
import type { Outcome, Refused } from '../outcome';
import { toExclusions } from '../refusals';
import { ANY_ABILITY } from '../scope';
import { inputsOf, keptOffers, matchFacts, type InputsContext, type KeptOffers } from './inputs';

/** A decision as it is kept. */
export interface Recording {
  record: LoggedDecision;
  /**
   * Compares those who were kept out with the text, which was not needed to decide but is to decide otherwise. Off the
   * path of the request; null when there is nothing to add. Never throws.
   */
  complete: (() => Promise<void>) | null;
}

/** What a recording is made from besides the outcome. */
export interface RecordingContext extends InputsContext {
  /** Of the reach that is decided about, where there is one. */
  reachId?: string;
  /** Names this process. */
  madeBy: string;
  /** What was decided, where it has been put into words already. */
  decision?: Decision;
}

/** Records a decision, or a refusal. */
export function recordingOf(outcome: Outcome, context: RecordingContext): Recording {
  const kept = keptOffers(outcome, context);
  const record: LoggedDecision = {
    ...(outcome.kind === 'chosen'
      ? (context.decision ?? toDecision(outcome, context))
      : refusalRecord(outcome, context)),
    ...(context.reachId !== undefined && { reach_id: context.reachId }),
    made_by: context.madeBy,
    weights: context.weights,
    inputs: inputsOf(outcome, kept, context),
  };
  return { record, complete: completion(record, kept, context) };
}

function refusalRecord(
  { error, sieve, refusals }: Refused,
  { request, decisionId, at }: RecordingContext,
): Omit<LoggedDecision, 'made_by' | 'weights'> {
  const { diagnosis } = error.options;
  return {
    decision_id: decisionId,
    at: at.toISOString(),
    ability: request.ability ?? '',
    ...(request.version !== undefined && { version: request.version }),
    group: request.group,
    strategy: null,
    chosen: null,
    confidence: 0,
    explored: false,
    candidates: [],
    excluded: sieve === null ? [] : toExclusions(refusals, sieve),
    excluded_count: refusals.length,
    route_reason: error.message,
    code: error.code,
    ...(diagnosis && { diagnosis }),
  };
}

function completion(
  { inputs }: LoggedDecision,
  { fitting, held }: KeptOffers,
  { matcher, request }: RecordingContext,
): Recording['complete'] {
  const offers = [...fitting, ...held.map(({ offer }) => offer)];
  // Where an ability is named, those who read alike are never compared; an open request compares whoever there is.
  const named = request.ability !== undefined && request.ability !== ANY_ABILITY;
  const needless = named && offers.every((offer) => offer.text === offers[0]!.text);
  if (held.length === 0 || inputs?.text === undefined || needless) return null;
  return async () => {
    const asked = { matcher, payload: request.payload, fits: () => true };
    const matches = await compareByMeaning(toGroup(offers), asked).catch(() => null);
    offers.forEach((offer, i) => {
      const match = matches?.get(offer);
      if (match) inputs.offers[i]!.match ??= matchFacts(match);
    });
  };
}
