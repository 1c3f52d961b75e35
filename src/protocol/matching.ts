/**
 * How meaning is compared, as plain types: `embeddings` turns texts into vectors or word statistics, `routing`
 * does the arithmetic; neither room imports the other.
 */

/** Turns texts into vectors of unit length, in the order given. Throws when the endpoint cannot be used now. */
export interface Embedder {
  readonly kind: 'dense' | 'lexical';
  /** Name of the model; vectors of different models are never compared. */
  readonly model: string;
  embed(texts: string[]): Promise<Float32Array[]>;
}

/** What an ability says about itself. Abilities with the same texts share one `key` and are compared once. */
export interface AbilityText {
  /** Identity of the texts: an edited description has another key, hence other vectors. */
  readonly key: string;
  /** The description first, then the examples; never empty. */
  readonly texts: readonly string[];
}

/** How near one ability is to the text asked for. */
export interface Match {
  /** Which of the abilities compared. */
  readonly position: number;
  /** Raw cosine (dense) or TF-IDF cosine (lexical) between the text and the ability's description. */
  readonly cosine: number;
  /** Nearness on a log scale: a difference of 1 makes an ability e times less likely. Comparable within one query only. */
  readonly closeness: number;
  /** 0–1: whether the ability fits the text at all; below 0.5 is off topic. */
  readonly fit: number;
  readonly by: 'dense' | 'lexical';
  /** True when vectors were wanted and the lexical matcher stood in for them. */
  readonly degraded: boolean;
}

export interface MatchOptions {
  /** Return at most so many, the best ones, best first. Default: all of them, in no particular order. */
  limit?: number;
  /** Leave out what this refuses; asked, by position, only about abilities that are in the running. */
  accept?: (position: number) => boolean;
}

/** Compares a text with abilities by meaning. */
export interface Matcher {
  /** Ties keep the order given. Never throws because an endpoint is down: it degrades. */
  similarities(text: string, abilities: readonly AbilityText[], options?: MatchOptions): Promise<Match[]>;
  /** Computes ahead of time what {@link similarities} needs for exactly these abilities. */
  prepare(abilities: readonly AbilityText[]): Promise<void>;
}
