import { termsOf } from './terms';

/** One text as a unit vector of TF-IDF weights. */
type TermVector = Map<string, number>;

interface Posting {
  text: number;
  weight: number;
}

/** An inverted index of texts, weighted by TF-IDF (log-scaled frequency, smoothed inverse document frequency). */
export class TermIndex {
  private readonly postings = new Map<string, Posting[]>();
  private readonly frequency = new Map<string, number>();
  private readonly vectors: TermVector[];

  /** `counts` are the terms of each text, see {@link termsOf}. */
  constructor(counts: readonly Map<string, number>[]) {
    for (const terms of counts)
      for (const term of terms.keys()) this.frequency.set(term, (this.frequency.get(term) ?? 0) + 1);
    this.vectors = counts.map((terms) => this.weigh(terms, counts.length));
    this.vectors.forEach((vector, text) => {
      for (const [term, weight] of vector) this.post(term, { text, weight });
    });
  }

  /** Cosine of the query with every text, by position. */
  cosines(query: string): Float32Array {
    const cosines = new Float32Array(this.vectors.length);
    for (const [term, weight] of this.weigh(termsOf(query), this.vectors.length)) {
      for (const posting of this.postings.get(term) ?? []) cosines[posting.text]! += weight * posting.weight;
    }
    return cosines;
  }

  /** Length of the sum of some texts' vectors: what turns a sum of cosines into the cosine with their centroid. */
  lengthOfSum(texts: readonly number[]): number {
    const sum = new Map<string, number>();
    for (const text of texts) {
      for (const [term, weight] of this.vectors[text]!) sum.set(term, (sum.get(term) ?? 0) + weight);
    }
    return lengthOf(sum.values());
  }

  private post(term: string, posting: Posting): void {
    const list = this.postings.get(term);
    if (list) list.push(posting);
    else this.postings.set(term, [posting]);
  }

  private weigh(terms: ReadonlyMap<string, number>, texts: number): TermVector {
    const weights = new Map<string, number>();
    for (const [term, count] of terms) {
      const rarity = Math.log(1 + texts / (1 + (this.frequency.get(term) ?? 0)));
      weights.set(term, Math.log1p(count) * rarity);
    }
    const length = lengthOf(weights.values());
    if (length > 0) for (const [term, weight] of weights) weights.set(term, weight / length);
    return weights;
  }
}

function lengthOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return Math.sqrt(sum);
}
