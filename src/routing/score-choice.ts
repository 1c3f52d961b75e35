import type { World } from '../protocol/world';
import type { ByChance, ScoredOffer, Scoring } from './candidates';
import { draw, type ExplorationSettings } from './exploration';
import type { Scope } from './scope';
import type { RouteRequest } from './types';

/** What a choice by score knows of the request. */
export interface Occasion {
  request: Pick<RouteRequest, 'exclude'>;
  scope: Scope;
  world: Pick<World, 'degraded'>;
  dryRun: boolean;
  /** Nobody is ready, and it waits for whom it is given to. */
  patient?: boolean;
}

/** The winner, or one of those who are near to it (R17). A dry run draws nothing: of equals it takes the first by name. */
export function chooseByScore(
  scoring: Scoring,
  occasion: Occasion,
  { exploration, random }: { exploration: ExplorationSettings; random: () => number },
): { chosen: ScoredOffer; exploration?: ByChance } {
  if (occasion.dryRun) return { chosen: scoring.best[0]! };
  const rate = mayExplore(occasion) ? exploration.rate : 0;
  const drawn = draw(scoring.rivals(exploration.band), { rate, random });
  const chosen = scoring.at(drawn.position);
  if (drawn.record === null) return { chosen };
  return {
    chosen,
    exploration: { winner: scoring.at(drawn.winner), explored: drawn.explored, record: drawn.record },
  };
}

/**
 * Exploring is for the first choice of a reach, whatever its delivery semantics, since nothing has been sent yet: not for
 * the next best after a failure, nor where the caller named the agent, where it must wait for an agent to be ready, or
 * while few are healthy (R24).
 */
function mayExplore({ request, scope, world, patient }: Occasion): boolean {
  const failedBefore = request.exclude !== undefined && request.exclude.length > 0;
  return !failedBefore && scope.agent === undefined && !patient && !world.degraded;
}
