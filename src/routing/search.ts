import type { Match, Matcher } from '../protocol/matching';
import { ReachError } from '../protocol/reach-error';
import type { AbilityIndex } from './ability-index';
import { rounded } from './score';
import type { AbilityHit } from './types';

/** Abilities that a hit's confidence is shared among; the rest are too far away to count. */
const CONSIDERED = 32;

/** Abilities nearest in meaning to a query, one hit per agent and ability (its best version), best first. */
export async function searchByMeaning(
  index: AbilityIndex,
  matcher: Matcher,
  search: { query: string; limit: number },
): Promise<AbilityHit[]> {
  const { query, limit } = search;
  if (query.trim() === '') {
    const errors = [{ pointer: '/query', message: 'is blank', fix: 'say in a few words what is needed' }];
    throw new ReachError('invalid_request', '/query is blank; say in a few words what is needed', { errors });
  }
  const { texts, speakers } = index.all;
  if (texts.length === 0) return [];
  const matches = await matcher.similarities(query, texts, { limit: Math.max(limit, CONSIDERED) });
  const shares = sharesOf(matches);
  const hits = matches.flatMap((match, i) =>
    speakers[match.position]!.filter((offer) => (offer.siblings?.[0] ?? offer) === offer).map(
      ({ capability, agentName, agentVersion }) => ({
        ability: capability.name,
        agent_name: agentName,
        agent_version: agentVersion,
        score: rounded(match.fit),
        confidence: rounded(match.fit * shares[i]!),
      }),
    ),
  );
  return hits.slice(0, limit);
}

/** How the matches divide the certainty among them (softmax of closeness). */
function sharesOf(matches: readonly Match[]): number[] {
  const best = Math.max(...matches.map(({ closeness }) => closeness));
  const weights = matches.map(({ closeness }) => Math.exp(closeness - best));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}
