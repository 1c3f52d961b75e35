import type { AbilityText, Matcher } from '../../protocol/matching';
import { ReachError } from '../../protocol/reach-error';
import { matchFacts, textIdOf } from './inputs';
import type { Comparer } from './replay';

/**
 * Compares kept texts with what agents say about themselves now. An agent that said something else then cannot be compared.
 * @param strict vectors must be had: without them nothing would be known of the model in question
 */
export function comparerOf(
  matcher: Matcher,
  texts: readonly AbilityText[],
  { strict = false }: { strict?: boolean } = {},
): Comparer {
  const known = new Map(texts.map((text) => [textIdOf(text), text]));
  return async (text, offers) => {
    const ids = [...new Set(offers.map(({ text_id }) => text_id))];
    const abilities = ids.flatMap((id) => known.get(id) ?? []);
    if (abilities.length < ids.length) return null;
    const matches = await matcher.similarities(text, abilities);
    if (strict && matches.some(({ degraded }) => degraded))
      throw new ReachError(
        'engine_unavailable',
        'The embedding endpoint gave no vectors; see that it serves this model, and try again',
        { retryAfterMs: 5_000 },
      );
    return new Map(matches.map((match) => [ids[match.position]!, matchFacts(match)]));
  };
}
