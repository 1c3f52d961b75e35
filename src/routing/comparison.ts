import { routingText } from '../protocol/json-schema';
import type { Match, Matcher } from '../protocol/matching';
import { gather, toGroup, type Offer, type OfferGroup, type SharedSchema } from './ability-index';
import type { RouteRequest } from './types';

/** Offers whose ability is near to the request's text, nearest first, as far as they were compared. */
export type Matches = Pick<ReadonlyMap<Offer, Match>, 'size' | 'get' | 'has' | 'keys' | 'entries'>;

export interface ComparisonOptions {
  matcher: Matcher;
  payload: RouteRequest['payload'];
  fits: (offer: Offer) => boolean;
  /** Abilities looked at, the nearest; default all that fit. */
  limit?: number;
}

/**
 * Compares the request's text with the abilities of a group. What the text is depends on what an input schema
 * marks as text, so offers are compared in parts that read the payload alike (nearly always just one).
 */
export async function compareByMeaning(group: OfferGroup, options: ComparisonOptions): Promise<Matches> {
  const matches = options.limit === undefined ? new MatchTable(group.offers) : new Map<Offer, Match>();
  for (const [text, part] of partsByText(group, options.payload)) {
    if (text.trim() === '') continue; // nothing to compare: no similarity rather than a made-up one
    await comparePart({ text, part, matches }, options);
  }
  return matches;
}

async function comparePart(
  work: { text: string; part: OfferGroup; matches: { set(offer: Offer, match: Match): unknown } },
  options: ComparisonOptions,
): Promise<void> {
  const { text, part, matches } = work;
  const { matcher, fits, limit } = options;
  const accept = (position: number) => part.speakers[position]!.some(fits);
  const found = await matcher.similarities(text, part.texts, { limit, accept });
  for (let i = 0; i < found.length; i++) {
    const speakers = part.speakers[found[i]!.position]!;
    for (let k = 0; k < speakers.length; k++) if (fits(speakers[k]!)) matches.set(speakers[k]!, found[i]!);
  }
}

function partsByText(group: OfferGroup, payload: RouteRequest['payload']): Map<string, OfferGroup> {
  if (!group.marksText) return new Map([[routingText(undefined, payload), group]]);
  const textOf = new Map<SharedSchema, string>();
  const parts = gather(group.offers, ({ schema }) => {
    let text = textOf.get(schema);
    if (text === undefined) textOf.set(schema, (text = routingText(schema.document, payload)));
    return text;
  });
  if (parts.size === 1) return new Map([[[...parts.keys()][0]!, group]]);
  return new Map([...parts].map(([text, offers]) => [text, toGroup(offers)]));
}

/**
 * Matches of nearly all offers of a group. A Map of a thousand is made and thrown away with each decision, and the
 * collector's pauses were the slowest hundredth of them; a list in the group's order costs a tenth of it.
 */
class MatchTable {
  size = 0;
  private readonly found: (Match | undefined)[];

  private readonly offers: readonly Offer[];

  constructor(offers: readonly Offer[]) {
    // Those of a group of the index are in order already.
    const ordered = offers.every((offer, i) => i === 0 || offers[i - 1]!.position < offer.position);
    this.offers = ordered ? offers : [...offers].sort((a, b) => a.position - b.position);
    this.found = new Array<Match | undefined>(offers.length).fill(undefined);
  }

  set(offer: Offer, match: Match): void {
    const place = this.placeOf(offer);
    if (this.found[place] === undefined) this.size++;
    this.found[place] = match;
  }

  get(offer: Offer): Match | undefined {
    return this.found[this.placeOf(offer)];
  }

  has(offer: Offer): boolean {
    return this.get(offer) !== undefined;
  }

  *keys(): MapIterator<Offer> {
    for (const [offer] of this.entries()) yield offer;
  }

  /** Nearest first. */
  *entries(): MapIterator<[Offer, Match]> {
    const all = this.offers.map((offer, i) => [offer, this.found[i]] as const);
    const present = all.filter((entry): entry is [Offer, Match] => entry[1] !== undefined);
    yield* present.sort(([, a], [, b]) => b.closeness - a.closeness);
  }

  /** -1 for one of another group. */
  private placeOf({ position }: Offer): number {
    let low = 0;
    let high = this.offers.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const there = this.offers[middle]!.position;
      if (there === position) return middle;
      if (there < position) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}
