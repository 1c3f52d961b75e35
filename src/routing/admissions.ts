import type { BreakerGate, BreakerLookup } from '../protocol/reliability';
import type { Offer } from './ability-index';

/** What a breaker that is not closed says of one offer, and whether this request passes it. */
export interface Admission {
  gate: BreakerGate;
  passes: boolean;
}

/** Says whether a request passes a gate that is not closed. */
export type Passage = (gate: BreakerGate) => boolean;

/** Rolls: of the requests that come, a share passes (R28). `random` gives a number in [0, 1). */
export function rolling(random: () => number): Passage {
  return ({ share }) => share >= 1 || (share > 0 && random() < share);
}

/** For dry runs, which claim nothing and never roll: whoever might pass does. */
export const mightPass: Passage = ({ share }) => share > 0;

/**
 * Whether a decision made a moment ago still passes. One with a mark was rolled then and is not rolled again; one
 * without was made while the breaker was closed, and stands only while it is.
 */
export function stillPasses(gate: BreakerGate, admission: BreakerGate['mark'] | undefined): boolean {
  if (isClosed(gate)) return true;
  return admission !== undefined && (gate.share > 0 || gate.mark === admission);
}

/** Nothing is held back and nothing is marked. */
function isClosed({ share, mark }: BreakerGate): boolean {
  return share >= 1 && mark === null;
}

/**
 * The breakers as one request meets them: each is asked at most once and rolled once, so that all who look at an
 * offer while a choice is made see the same. A closed one, the common case, costs a byte that is there already.
 */
export class Admissions {
  /** By {@link Offer.position}: 1 once its breaker was asked and found closed. */
  private readonly closed: Uint8Array;
  private readonly others = new Map<Offer, Admission>();

  /** @param offerCount of the whole index, the bound of all positions */
  constructor(
    private readonly breakers: BreakerLookup,
    private readonly passage: Passage,
    offerCount: number,
  ) {
    this.closed = new Uint8Array(offerCount);
  }

  /** Null when the breaker is closed. */
  of(offer: Offer): Admission | null {
    if (this.closed[offer.position] === 1) return null;
    return this.others.get(offer) ?? this.ask(offer);
  }

  private ask(offer: Offer): Admission | null {
    const gate = this.breakers.gate(offer.breakerKey);
    if (isClosed(gate)) {
      this.closed[offer.position] = 1;
      return null;
    }
    const admission = { gate, passes: this.passage(gate) };
    this.others.set(offer, admission);
    return admission;
  }
}
