import type { AbilityText, Embedder, Match, Matcher, MatchOptions } from '../../protocol/matching';
import { foldText } from './language';
import { MeaningSpace } from './meaning-space';

export interface SemanticMatcherDeps {
  embedder: Embedder;
  /** Stands in, flagged, whenever vectors cannot be had in time. */
  fallback: Matcher;
  /** How long one comparison may wait for vectors. Default 1500 ms. */
  patienceMs?: number;
}

/** Compares texts by embedding vectors, and by words when vectors cannot be had in time. */
export class SemanticMatcher implements Matcher {
  private readonly embedder: Embedder;
  private readonly fallback: Matcher;
  private readonly patienceMs: number;
  private space: MeaningSpace | null = null;
  /** Spaces are built one after the other, so that a later set of abilities wins. */
  private building: Promise<unknown> = Promise.resolve();

  constructor({ embedder, fallback, patienceMs = 1500 }: SemanticMatcherDeps) {
    this.embedder = embedder;
    this.fallback = fallback;
    this.patienceMs = patienceMs;
  }

  async prepare(abilities: readonly AbilityText[]): Promise<void> {
    // Begun at once: a comparison that comes now waits for this set.
    await Promise.all([this.fallback.prepare(abilities), this.rebuild(() => abilities)]);
  }

  async similarities(text: string, abilities: readonly AbilityText[], options: MatchOptions = {}): Promise<Match[]> {
    const query = foldText(text);
    try {
      const [space, vector] = await withPatience(this.vectorsFor(query, abilities), this.patienceMs);
      return space.match(query, vector, abilities, options);
    } catch {
      const matches = await this.fallback.similarities(query, abilities, options);
      return matches.map((match) => ({ ...match, degraded: true }));
    }
  }

  private vectorsFor(query: string, abilities: readonly AbilityText[]): Promise<[MeaningSpace, Float32Array]> {
    const vector = this.embedder.embed([query]).then(([first]) => first!);
    return Promise.all([this.spaceWith(abilities), vector]);
  }

  /** The current space, extended first when it lacks some of `abilities`. */
  private async spaceWith(abilities: readonly AbilityText[]): Promise<MeaningSpace> {
    const { space } = this;
    if (space?.covers(abilities)) return space;
    return this.rebuild((known) => [...known, ...abilities]);
  }

  private rebuild(choose: (known: readonly AbilityText[]) => readonly AbilityText[]): Promise<MeaningSpace> {
    const next = this.building.then(async () => {
      const known = this.space?.abilities() ?? [];
      const wanted = choose(known);
      if (this.space?.covers(wanted) && new Set(wanted.map(({ key }) => key)).size === known.length) return this.space;
      const vectors = await this.vectorsOf(MeaningSpace.textsOf(wanted));
      return (this.space = await MeaningSpace.build(wanted, vectors));
    });
    this.building = next.catch(() => undefined);
    return next;
  }

  private async vectorsOf(texts: string[]): Promise<Float32Array[]> {
    const missing = texts.filter((text) => this.space?.vectorOf(text) === undefined);
    const fresh = new Map<string, Float32Array>();
    const vectors = missing.length > 0 ? await this.embedder.embed(missing) : [];
    missing.forEach((text, position) => fresh.set(text, vectors[position]!));
    return texts.map((text) => fresh.get(text) ?? this.space!.vectorOf(text)!);
  }
}

/** `promise`, or a rejection once `ms` have passed; the work itself goes on and fills the caches. */
function withPatience<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no vectors within ${ms} ms`)), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
