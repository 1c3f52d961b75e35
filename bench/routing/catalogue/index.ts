/**
 * A generated catalogue: 150 abilities with look-alikes, phrased in English and Chinese. Every ability is written down
 * as a handful of phrases that share few words with each other; from them a seed makes examples and queries, so that
 * no query is among the examples, nor, unless that is asked for, its phrase.
 */
import { seededRandom } from '../../statistics';
import { CONTENT_AND_CARE } from './content-and-care';
import { COMMERCE } from './commerce';
import { FINANCE } from './finance';
import { OFF_TOPIC } from './off-topic';
import { TECHNOLOGY } from './technology';
import { TRAVEL_AND_HOME } from './travel-and-home';
import { styled } from './styles';

export type Language = 'en' | 'zh';

/** An ability as it is written down. */
export interface CatalogueAbility {
  name: string;
  description: string;
  phrases: Record<Language, string[]>;
}

export interface CatalogueOptions {
  seed: number;
  /** Examples of each ability, by language. */
  examples: Partial<Record<Language, number>>;
  /** Languages of the queries. Default: those of the examples. */
  queries?: Language[];
  /** Queries repeat the phrases of examples too, put in another way, as the many who are asked for texts do. */
  familiar?: boolean;
}

/** A text with the ability it is for. */
export type Labelled = [text: string, label: string];

/** The catalogue in the shape of public intent sets. */
export interface CatalogueSet {
  train: Labelled[];
  test: Labelled[];
  oos_test: Labelled[];
}

const PARTS = [COMMERCE, FINANCE, TECHNOLOGY, TRAVEL_AND_HOME, CONTENT_AND_CARE];

/** All abilities, in the order written. */
export function catalogueAbilities(): CatalogueAbility[] {
  return PARTS.flatMap((part) => part.trim().split(/\n(?=\w+ \|)/)).map(readAbility);
}

function readAbility(block: string): CatalogueAbility {
  const [head = '', ...lines] = block.split('\n');
  const [name = '', description = ''] = head.split(' | ');
  return { name, description, phrases: readPhrases(lines) };
}

function readPhrases(lines: readonly string[]): Record<Language, string[]> {
  const of = (language: Language) => {
    const line = lines.find((candidate) => candidate.startsWith(`${language}: `)) ?? '';
    return line.slice(language.length + 2).split(' / ');
  };
  return { en: of('en'), zh: of('zh') };
}

/** Draws examples (`train`) and queries (`test`, `oos_test`) from the catalogue; the same seed draws the same. */
export function catalogueSet({ seed, examples, queries, familiar = false }: CatalogueOptions): CatalogueSet {
  const random = seededRandom(seed);
  const set: CatalogueSet = { train: [], test: [], oos_test: [] };
  const asked = queries ?? (Object.keys(examples) as Language[]);
  for (const { name, phrases } of catalogueAbilities()) {
    for (const language of ['en', 'zh'] as const) {
      const drawn = shuffled(phrases[language], random);
      const count = examples[language] ?? 0;
      const say = (phrase: string) => styled(phrase, { language, topic: name, random });
      for (const phrase of drawn.slice(0, count)) set.train.push([say(phrase), name]);
      if (asked.includes(language))
        for (const phrase of familiar ? drawn : drawn.slice(count)) set.test.push([say(phrase), name]);
    }
  }
  const known = new Set(set.train.map(([text]) => text));
  set.test = set.test.filter(([text]) => !known.has(text));
  const offTopic = readPhrases(OFF_TOPIC.trim().split('\n'));
  for (const language of asked) {
    for (const phrase of offTopic[language]) set.oos_test.push([styled(phrase, { language, random }), 'oos']);
  }
  return set;
}

/** Fisher and Yates. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}
