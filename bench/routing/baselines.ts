/** What anybody would try first; each answers the same queries from the same descriptions and examples. */
import { LexicalMatcher } from '../../src/embeddings';
import { termsOf } from '../../src/embeddings/terms';
import type { Embedder } from '../../src/protocol/matching';
import { foldText } from '../../src/routing/meaning/language';
import { dotAt } from '../../src/routing/meaning/vector-space';
import type { LabelledSet } from './labelled-set';
import type { Answer } from './scores';

/** One score for each ability, and how much the query seems on topic (default: the best score). */
export interface Judgement {
  scores: ArrayLike<number>;
  topic?: number;
}

export interface Baseline {
  name: string;
  judge(text: string): Promise<Judgement>;
}

/** Our matcher for installations without embeddings: TF-IDF over words, pairs and groups of letters. */
export async function lexical({ abilities }: LabelledSet): Promise<Baseline> {
  const texts = abilities.map(({ label, description, examples }) => ({
    key: label,
    texts: [description, ...examples],
  }));
  const matcher = new LexicalMatcher();
  await matcher.prepare(texts);
  return {
    name: 'lexical',
    async judge(text) {
      const matches = await matcher.similarities(text, texts);
      const scores = new Float64Array(abilities.length);
      for (const { position, closeness } of matches) scores[position] = closeness;
      return { scores, topic: Math.max(...matches.map(({ fit }) => fit)) };
    },
  };
}

/** BM25 (Robertson and Zaragoza 2009) with the usual k1 = 1.2 and b = 0.75; an ability is one document. */
export function bm25({ abilities }: LabelledSet): Baseline {
  const documents = abilities.map(({ description, examples }) => termsOf([description, ...examples].join('\n')));
  const lengths = documents.map((terms) => [...terms.values()].reduce((sum, count) => sum + count, 0));
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  const frequency = new Map<string, number>();
  for (const terms of documents) for (const term of terms.keys()) frequency.set(term, (frequency.get(term) ?? 0) + 1);
  const rarity = (term: string) => {
    const own = frequency.get(term) ?? 0;
    return Math.log(1 + (documents.length - own + 0.5) / (own + 0.5));
  };
  const score = (query: ReadonlyMap<string, number>, document: number) => {
    let sum = 0;
    for (const term of query.keys()) {
      const count = documents[document]!.get(term);
      if (count === undefined) continue;
      sum += (rarity(term) * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * lengths[document]!) / mean));
    }
    return sum;
  };
  return {
    name: 'bm25',
    judge(text) {
      const query = termsOf(text);
      return Promise.resolve({ scores: Float64Array.from(documents, (_, i) => score(query, i)) });
    },
  };
}

/** Baselines on vectors: cosine with the description, with the nearest example, with the mean of all texts. */
export async function dense({ abilities }: LabelledSet, embedder: Embedder): Promise<Baseline[]> {
  const vectorsOf = (texts: readonly string[]) => embedder.embed(texts.map(foldText));
  const descriptions = await vectorsOf(abilities.map(({ description }) => description));
  const texts = await Promise.all(abilities.map((ability) => vectorsOf([ability.description, ...ability.examples])));
  const compare = (name: string, score: (query: Float32Array, ability: number) => number): Baseline => ({
    name,
    async judge(text) {
      const [query] = await vectorsOf([text]);
      return { scores: Float64Array.from(abilities, (_, i) => score(query!, i)) };
    },
  });
  const means = texts.map(meanOf);
  return [
    compare('cosine_description', (query, i) => dotAt(query, descriptions[i]!, 0)),
    compare('nearest_example', (query, i) => nearest(query, texts[i]!)),
    compare('centroid', (query, i) => dotAt(query, means[i]!, 0)),
  ];
}

/** Among the examples; an ability without any has its description. */
function nearest(query: Float32Array, [description, ...examples]: Float32Array[]): number {
  const candidates = examples.length > 0 ? examples : [description!];
  return Math.max(...candidates.map((example) => dotAt(query, example, 0)));
}

function meanOf(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(vectors[0]!.length);
  for (const vector of vectors) for (let i = 0; i < sum.length; i++) sum[i]! += vector[i]!;
  const length = Math.sqrt(dotAt(sum, sum, 0));
  return sum.map((value) => value / length);
}

/** A judgement as an answer: the labels in order of score, ties in the order of the set. */
export function toAnswer({ abilities }: LabelledSet, expected: string | null, { scores, topic }: Judgement): Answer {
  const order = abilities.map((_, i) => i).sort((a, b) => scores[b]! - scores[a]! || a - b);
  const ranked = order.slice(0, 3).map((i) => abilities[i]!.label);
  return { expected, ranked, topic: topic ?? scores[order[0]!]! };
}
