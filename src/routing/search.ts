import type { Matcher } from '../protocol/matching';
import { ReachError } from '../protocol/reach-error';
import type { NearAbility } from '../protocol/shapes';
import type { AbilityIndex } from './ability-index';
import { bestVersion, confidences } from './certainty';
import { rounded } from './score';

/** Abilities that a hit's confidence is shared among; the rest are too far away to count. */
const CONSIDERED = 32;

/** Abilities nearest in meaning to a query, one hit per agent and ability (its best version), best first. */
export async function searchByMeaning(
  index: AbilityIndex,
  matcher: Matcher,
  search: { query: string; limit: number },
): Promise<NearAbility[]> {
  const { query, limit } = search;
  if (isBlank(query)) {
    const errors = [{ pointer: '/query', message: 'is blank', fix: 'say in a few words what is needed' }];
    throw new ReachError('invalid_request', '/query is blank; say in a few words what is needed', { errors });
  }
  const { texts, speakers } = index.all;
  if (texts.length === 0) return [];
  const matches = await matcher.similarities(query, texts, { limit: Math.max(limit, CONSIDERED) });
  const found = matches.flatMap((match) =>
    speakers[match.position]!.filter((offer) => bestVersion(offer.siblings ?? [offer]) === offer).map((offer) => ({
      ability: offer.capability.name,
      offer,
      match,
    })),
  );
  const certain = confidences(found);
  return found.slice(0, limit).map(({ ability, offer, match }, i) => ({
    ability,
    agent_name: offer.agentName,
    agent_version: offer.agentVersion,
    score: rounded(match.fit),
    confidence: certain[i]!,
  }));
}

/** No letter, digit or symbol: spaces of any width, and characters that cannot be seen. */
function isBlank(text: string): boolean {
  return /^[\p{Z}\p{C}]*$/u.test(text);
}
