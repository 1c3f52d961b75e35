import { isRight, type Outcome } from './dispatch';

/** How many went to the right agent, of those that say who that is. */
export interface Accuracy {
  right: number;
  of: number;
}

/** Accuracy by language, and of `all`. */
export function accuracy(outcomes: readonly Outcome[]): Record<string, Accuracy> {
  const languages = [...new Set(outcomes.map(({ ticket }) => ticket.lang))].toSorted().reverse();
  const groups = [
    ...languages.map((lang) => [lang, outcomes.filter(({ ticket }) => ticket.lang === lang)] as const),
    ['all', outcomes] as const,
  ];
  return Object.fromEntries(groups.map(([name, group]) => [name, count(group)]));
}

function count(outcomes: readonly Outcome[]): Accuracy {
  const judged = outcomes.map(isRight).filter((right) => right !== undefined);
  return { right: judged.filter(Boolean).length, of: judged.length };
}
