import { routingText } from '../protocol/json-schema';
import type { Match, Matcher } from '../protocol/matching';
import { gather, toGroup, type Offer, type OfferGroup, type SharedSchema } from './ability-index';
import type { RouteRequest } from './types';

/** Offers whose ability is near to the request's text, nearest first, as far as they were compared. */
export type Matches = ReadonlyMap<Offer, Match>;

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
  const matches = new Map<Offer, Match>();
  for (const [text, part] of partsByText(group, options.payload)) {
    if (text.trim() === '') continue; // nothing to compare: no similarity rather than a made-up one
    await comparePart({ text, part, matches }, options);
  }
  return matches;
}

async function comparePart(
  work: { text: string; part: OfferGroup; matches: Map<Offer, Match> },
  options: ComparisonOptions,
): Promise<void> {
  const { text, part, matches } = work;
  const { matcher, fits, limit } = options;
  const accept = (position: number) => part.speakers[position]!.some(fits);
  const found = await matcher.similarities(text, part.texts, { limit, accept });
  for (const match of found) {
    for (const offer of part.speakers[match.position]!) if (fits(offer)) matches.set(offer, match);
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
