import type { LoggedDecision, MatchFacts } from '../../protocol/logged-decision';
import type { AbilityText, Match, Matcher, MatchOptions } from '../../protocol/matching';

type Inputs = NonNullable<LoggedDecision['inputs']>;

/** Comparisons as they were recorded. It says afterwards whether it was asked for one that nobody made. */
export class RecordedMatcher implements Matcher {
  /** Set when somebody would have had to be compared who was not: then nothing can be said of the choice. */
  missed = false;
  private readonly matches = new Map<string, MatchFacts>();
  /** Those who could not be compared then count as far away, as they did. */
  private readonly incomparable: ReadonlySet<string>;

  /** @param nothingCompared a choice by meaning was wanted, and no text could be compared: all counted alike */
  constructor(
    { offers }: Pick<Inputs, 'offers'>,
    private readonly nothingCompared: boolean,
  ) {
    for (const { text_id, match } of offers) if (match) this.matches.set(text_id, match);
    const fitting = offers.filter(({ held_by }) => held_by === undefined);
    const some = fitting.some(({ match }) => match !== undefined);
    const without = some ? fitting.filter(({ match }) => match === undefined) : [];
    this.incomparable = new Set(without.map(({ text_id }) => text_id));
  }

  async similarities(_text: string, abilities: readonly AbilityText[], options: MatchOptions = {}): Promise<Match[]> {
    const { accept = () => true, limit = Infinity } = options;
    if (this.nothingCompared) return [];
    const found: Match[] = [];
    abilities.forEach(({ texts }, position) => {
      if (!accept(position)) return;
      const id = texts[0]!;
      const facts = this.matches.get(id);
      if (facts) found.push({ ...facts, degraded: facts.degraded ?? false, position });
      else if (!this.incomparable.has(id)) this.missed = true;
    });
    if (found.length <= limit) return found;
    return found.sort((a, b) => b.closeness - a.closeness || a.position - b.position).slice(0, limit);
  }

  async prepare(): Promise<void> {
    // Everything is there, or it is not.
  }
}

/** Whether a choice by meaning was made without any comparison, as the text was blank or no matcher could be used. */
export function nothingWasCompared({ strategy, weights, inputs }: LoggedDecision): boolean {
  if (!inputs || inputs.strategy !== 'score_based' || strategy === 'rule' || strategy === null) return false;
  if (inputs.text_sha256 === undefined) return true;
  const fitting = inputs.offers.filter(({ held_by }) => held_by === undefined);
  const several = fitting.some(({ text_id }) => text_id !== fitting[0]!.text_id);
  return weights.semantic_similarity > 0 && several && fitting.every(({ match }) => match === undefined);
}
