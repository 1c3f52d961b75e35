import semver from 'semver';
import type { Match } from '../protocol/matching';
import type { NearAbility } from '../protocol/shapes';
import type { Offer } from './ability-index';
import type { Matches } from './comparison';
import { rounded } from './score';

/** A match and the ability it is a match for. */
export interface Found {
  ability: string;
  match: Match;
}

/**
 * How sure it is of each match that it is the one asked for, 0–1: how well it fits, times its share of the certainty,
 * which abilities divide among them by closeness (softmax). Two agents that offer one ability do not compete; two
 * abilities that are alike do, and neither then has much more than half.
 */
export function confidences(found: readonly Found[]): number[] {
  const nearest = new Map<string, number>();
  for (const { ability, match } of found)
    nearest.set(ability, Math.max(nearest.get(ability) ?? -Infinity, match.closeness));
  const best = Math.max(...nearest.values());
  const sum = [...nearest.values()].reduce((total, closeness) => total + Math.exp(closeness - best), 0);
  return found.map(({ match }) => rounded((match.fit * Math.exp(match.closeness - best)) / sum));
}

/** What was found for a request that leaves its ability open, best first: one entry per agent and ability, its best version. */
export function hitsOf(matches: Matches): NearAbility[] {
  const found = [...matches.entries()].filter(([offer]) => isBestVersion(offer, matches));
  const certain = confidences(found.map(([{ capability }, match]) => ({ ability: capability.name, match })));
  return found
    .map(([offer, match], i) => ({ offer, match, confidence: certain[i]! }))
    .sort((a, b) => b.match.closeness - a.match.closeness || a.offer.position - b.offer.position)
    .map(({ offer: { capability, agentName, agentVersion }, match, confidence }) => ({
      ability: capability.name,
      agent_name: agentName,
      agent_version: agentVersion,
      score: rounded(match.fit),
      confidence,
    }));
}

/**
 * How sure it is that the ability found for a request that leaves it open is the one that is meant, 0–1: the `confidence` of
 * its hit. Null where it was not compared. A version that stands in for its agent's best has the certainty of that.
 */
export function certaintyOf({ agentName, capability }: Offer, matches: Matches): number | null {
  const hit = hitsOf(matches).find(
    ({ agent_name, ability }) => agent_name === agentName && ability === capability.name,
  );
  return hit?.confidence ?? null;
}

function isBestVersion(offer: Offer, matches: Matches): boolean {
  return offer.siblings === null || bestVersion(offer.siblings.filter((sibling) => matches.has(sibling))) === offer;
}

/**
 * The version that speaks for its agent's ability, of such that are sorted best first: a pre-release, which nobody gets without
 * naming it, only where there is no release.
 */
export function bestVersion(versions: readonly Offer[]): Offer | undefined {
  return versions.find(({ agentVersion }) => semver.prerelease(agentVersion) === null) ?? versions[0];
}
