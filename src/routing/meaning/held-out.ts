import { SCRIPT_NAMES } from './language';
import type { Profiles } from './profiles';
import { addCentred, dotAt, lengthOf, rawSum, type VectorRows } from './vector-space';
import type { Whitening } from './whitening';

/** Examples that are held out at most; the median of so many is known well enough. */
const HELD_OUT = 256;
/** A description and one example are left when one is held out. */
const MIN_TEXTS = 3;

/** An example compared with its own ability as if it were not part of it. */
export interface HeldOut {
  /** Cosine with the mean of the ability's other texts, in the space that abilities are told apart in. */
  whitened: number;
  /** Cosine with the mean of their raw vectors. */
  raw: number;
}

interface Parts {
  rows: VectorRows;
  profiles: Profiles;
  means: Float32Array;
  whitening: Whitening;
}

/** Holds out some examples, evenly over all abilities, one at a time; the results by script. */
export function holdOut(parts: Parts): HeldOut[][] {
  const { rows, profiles } = parts;
  const held: HeldOut[][] = SCRIPT_NAMES.map(() => []);
  const stride = Math.max(1, Math.ceil(profiles.textCount / HELD_OUT));
  let count = 0;
  for (let place = 0; place < profiles.abilities.length; place++) {
    const members = profiles.membersOf(place);
    if (members.length < MIN_TEXTS) continue;
    for (const row of members.subarray(1)) {
      if (count++ % stride === 0) held[rows.scripts[row]!]!.push(withoutIt(parts, place, row));
    }
  }
  return held;
}

function withoutIt({ rows, profiles, means, whitening }: Parts, place: number, row: number): HeldOut {
  const { dimensions } = rows;
  const members = profiles.membersOf(place);
  const own = new Float32Array(dimensions);
  addCentred(rows, row, { sum: own, offset: 0, factor: 1 });
  const others = Float32Array.from(own, (value, i) => means[place * dimensions + i]! - value / members.length);
  const raw = rows.values.subarray(row * dimensions, (row + 1) * dimensions);
  const rest = rawSum(rows, members).map((value, i) => value - raw[i]!);
  return {
    whitened: dotAt(whitening.apply(own), whitening.apply(others), 0),
    raw: dotAt(raw, rest, 0) / Math.max(1e-9, lengthOf(rest)),
  };
}
