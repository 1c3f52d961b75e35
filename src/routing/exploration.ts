/**
 * Exploration (R17): the winner takes the call; if others are near to it, one of them is tried now and then, so that
 * whoever has become better is noticed. And lots among equals, so that no name is favoured. One random number decides
 * both and is recorded, so that a decision recomputes.
 */
import type { ExplorationRecord } from '../protocol/shapes';

/** `router.exploration`. */
export interface ExplorationSettings {
  /** How often, of the choices where somebody is within the band, one of them is tried: 0 never, 1 always. */
  rate: number;
  /** How far below the winner's score they may be. */
  band: number;
}

/** The defaults of R17. */
export const DEFAULT_EXPLORATION: Readonly<ExplorationSettings> = { rate: 0.1, band: 0.05 };

/** Those who stand near the winner, by their positions among the offers: ascending, which is by the agent's name. */
export interface Rivals {
  /** With the best score, to the last of six decimals; never empty. */
  tied: readonly number[];
  /** Whose score is within the band of the best, the tied included. */
  near: readonly number[];
}

/** Whom chance picked. */
export interface Draw {
  position: number;
  /** Whether that is somebody else than the winner. */
  explored: boolean;
  /** The winner: the best, of equals the one that the lot fell on. */
  winner: number;
  /** Null when there was nothing to draw. */
  record: ExplorationRecord | null;
}

export interface DrawOptions {
  /** 0 where nothing is left to chance. */
  rate: number;
  /** In [0, 1); called once, and only if there is something to draw. */
  random: () => number;
}

/**
 * Draws by the rule that {@link ExplorationRecord} states: the upper `rate` of all draws explores, and within its part
 * the draw says for whom the lot falls. A draw of 0 is the plain choice: the best, of equals the first. So is every
 * choice at rate 0, which leaves nothing to chance.
 */
export function draw({ tied, near }: Rivals, { rate, random }: DrawOptions): Draw {
  const among = near.length - 1;
  if (rate === 0 || among === 0) return { position: tied[0]!, explored: false, winner: tied[0]!, record: null };
  const drawn = random();
  const record = { draw: drawn, among };
  const plainShare = 1 - rate;
  const explored = drawn >= plainShare;
  const within = explored ? (drawn - plainShare) / (1 - plainShare) : drawn / plainShare;
  const [winner, rest] = pick(tied, within);
  if (!explored) return { position: winner, explored, winner, record };
  const others = near.filter((position) => position !== winner);
  return { position: pick(others, rest)[0], explored, winner, record };
}

/** The item that a number in [0, 1) falls on, and where within its part of the line it fell, again in [0, 1). */
function pick(items: readonly number[], at: number): [item: number, rest: number] {
  const place = at * items.length;
  const index = Math.min(items.length - 1, Math.floor(place)); // rounding may reach the end of the line
  return [items[index]!, Math.max(0, place - index)];
}
