/** Open matches (`ability: "*"`): when nothing fits well enough, the answer says so rather than guess. */
import { MAX_RECORDED_CANDIDATES } from '../protocol/limits';
import { ReachError } from '../protocol/reach-error';
import type { Diagnosis, NearAbility } from '../protocol/shapes';
import type { Offer } from './ability-index';
import type { Matches } from './comparison';
import type { Refusal } from './refusals';
import type { OpenMatchSettings } from './types';

const NAMES_IN_HINT = 3;

/**
 * How much nearer than everybody who could take it must one be who cannot, for the request to be meant for that one: five
 * times as likely. To give it to somebody else would be a guess.
 */
const MEANT_CLOSENESS = Math.log(5);

/** Those whom the request is meant for but who cannot take it now; empty where somebody who can is near enough. */
export function keptFromIt(found: {
  matches: Matches;
  fitting: readonly Offer[];
  refusals: readonly Refusal[];
}): readonly Refusal[] {
  const { matches, fitting } = found;
  const closeness = (offer: Offer) => matches.get(offer)?.closeness ?? -Infinity;
  const refusals = found.refusals.filter(({ stage }) => stage !== 'superseded');
  const nearest = Math.max(...refusals.map(({ offer }) => closeness(offer)));
  if (Math.max(...fitting.map(closeness)) > nearest - MEANT_CLOSENESS) return [];
  return refusals.filter(({ offer }) => closeness(offer) > nearest - MEANT_CLOSENESS);
}

/** Nothing there has to do with the text. */
export function offTopic(hits: readonly NearAbility[], { minFit }: OpenMatchSettings): ReachError {
  const nearest = hits[0] ? `; nearest is ${told(hits[0])}, and ${minFit} is needed` : '';
  const message = `no ability fits what the payload says${nearest}`;
  const advice = 'name the ability, say more in the payload, or see GET /v1/abilities for what there is';
  return notFound({ reason: 'off_topic', message, advice }, hits, (hit) => `fits with ${hit.score.toFixed(2)} only`);
}

/**
 * The best hit is not certain enough: several abilities are as near as each other. Null when it is.
 * @param hits best first
 */
export function inDoubt(hits: readonly NearAbility[], { minConfidence }: OpenMatchSettings): ReachError | null {
  const [best] = hits;
  if (!best || best.confidence >= minConfidence) return null;
  const rivals = hits.filter(({ ability }, i) => hits.findIndex((hit) => hit.ability === ability) === i);
  const names = rivals.slice(0, NAMES_IN_HINT).map(told).join(', ');
  const message = `several abilities fit what the payload says about as well: ${names}; the best is sure with ${best.confidence.toFixed(2)}, and ${minConfidence} is needed`;
  const advice = 'name the ability that is meant, or say more in the payload';
  const sure = (hit: NearAbility) => `sure with ${hit.confidence.toFixed(2)}`;
  return notFound({ reason: 'ambiguous', message, advice }, hits, sure);
}

function notFound(
  said: Pick<Diagnosis, 'reason' | 'message' | 'advice'>,
  hits: readonly NearAbility[],
  whyOf: (hit: NearAbility) => string,
): ReachError {
  const closest = hits.slice(0, NAMES_IN_HINT).map((hit) => ({ name: hit.ability, why: whyOf(hit) }));
  const diagnosis = { ...said, closest, candidates: hits.slice(0, MAX_RECORDED_CANDIDATES) };
  return new ReachError('ability_not_found', `${said.message}; ${said.advice}`, { diagnosis });
}

function told({ ability, agent_name, score }: NearAbility): string {
  return `${ability} of ${agent_name} (${score.toFixed(2)})`;
}
