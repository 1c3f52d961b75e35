import type { AbilityText, Match, MatchOptions } from '../../protocol/matching';
import { BACKGROUND_TEXTS } from '../../protocol/background-texts';
import { bestPositions } from './best-first';
import { Centroids } from './centroids';
import { foldText } from './language';
import {
  centreQuery,
  centroidOf,
  dotAt,
  layOut,
  nearestMean,
  type CentredQuery,
  type VectorRows,
} from './vector-space';

/** Abilities whose examples are compared one by one; the others are placed by their centroid alone. */
const RESCORED = 32;
/** Abilities looked at in full after a coarse look at all, when there are more than twice as many. */
const SHORTLISTED = 256;
/** Centred cosine that makes an ability e times less likely. Margins measured on tickets: median 0.2, lowest 5 % 0.02. */
const TEMPERATURE = 0.1;
/** How much of the nearness to everyday sentences is taken off before judging whether a text is on topic. */
const BACKGROUND_SHARE = 0.5;
/** Where on- and off-topic texts part (about 5 % errors each way on 72 tickets against 48 other questions), and how sharply. */
const ON_TOPIC = { threshold: 0.09, width: 0.03 };

interface Profile {
  readonly ability: AbilityText;
  readonly rows: readonly number[];
}

/**
 * Vectors of a fixed set of abilities, ready to be compared with queries. The recipe is the one that measured best
 * with a small multilingual model: subtract the mean vector of each language (otherwise Chinese queries stick to
 * Chinese descriptions whatever they say), then average the three nearest texts with the centroid of all texts.
 */
export class MeaningSpace {
  private readonly placeOf = new Map<string, number>();
  private readonly remembered = new WeakMap<readonly AbilityText[], Int32Array>();

  private constructor(
    private readonly rows: VectorRows,
    private readonly profiles: readonly Profile[],
    private readonly centroids: Centroids,
    private readonly background: readonly number[],
  ) {
    profiles.forEach((profile, place) => this.placeOf.set(profile.ability.key, place));
  }

  /** Every text that a space of these abilities needs a vector of, in a stable order, each once. */
  static textsOf(abilities: readonly AbilityText[]): string[] {
    return [...new Set([...BACKGROUND_TEXTS, ...abilities.flatMap((ability) => ability.texts)].map(foldText))];
  }

  /** `vectors` belong to {@link textsOf} the same abilities, in its order. */
  static build(abilities: readonly AbilityText[], vectors: readonly Float32Array[]): MeaningSpace {
    const rows = layOut(MeaningSpace.textsOf(abilities), vectors);
    const rowsOf = (texts: readonly string[]) => texts.map((text) => rows.rowOf.get(foldText(text))!);
    const distinct = new Map(abilities.map((ability) => [ability.key, ability]));
    const profiles = [...distinct.values()].map((ability) => ({ ability, rows: rowsOf(ability.texts) }));
    const centroids = new Float32Array(profiles.length * rows.dimensions);
    profiles.forEach((profile, i) => centroids.set(centroidOf(rows, profile.rows), i * rows.dimensions));
    return new MeaningSpace(rows, profiles, new Centroids(centroids, rows.dimensions), rowsOf(BACKGROUND_TEXTS));
  }

  /** True when every ability can be compared here. */
  covers(abilities: readonly AbilityText[]): boolean {
    return this.placesOf(abilities) !== null;
  }

  abilities(): AbilityText[] {
    return this.profiles.map((profile) => profile.ability);
  }

  /** The stored vector of a text, so that a rebuilt space need not ask for it again. */
  vectorOf(text: string): Float32Array | undefined {
    const row = this.rows.rowOf.get(text);
    if (row === undefined) return undefined;
    return this.rows.values.subarray(row * this.rows.dimensions, (row + 1) * this.rows.dimensions);
  }

  /** See {@link Matcher.similarities}; for abilities that the space {@link covers} only. */
  match(text: string, vector: Float32Array, abilities: readonly AbilityText[], options: MatchOptions = {}): Match[] {
    const query = centreQuery(this.rows, text, vector);
    const places = this.placesOf(abilities) ?? new Int32Array();
    if (!needsShortlist(places, options)) return this.compare({ query, places, ...options });
    const glimpse = this.centroids.scanCoarsely(query.centred, places);
    // Nearly always most are accepted; then it is much cheaper to ask only about the nearest few.
    const hopeful = this.compareListed(
      { query, places, ...options },
      bestPositions(glimpse, SHORTLISTED, () => true),
    );
    if (hopeful.length === options.limit) return hopeful;
    const { accept = () => true } = options;
    return this.compareListed({ query, places, limit: options.limit }, bestPositions(glimpse, SHORTLISTED, accept));
  }

  private compareListed({ query, places, limit, accept = () => true }: Comparison, listed: number[]): Match[] {
    const own = Int32Array.from(listed, (position) => places[position]!);
    const acceptListed = (i: number) => accept(listed[i]!);
    return this.compare({ query, places: own, limit, accept: acceptListed, positions: listed });
  }

  private compare({ query, places, positions, limit, accept = () => true }: Comparison): Match[] {
    const nearness = this.centroids.scan(query.centred, places);
    const best = bestPositions(nearness, Math.min(RESCORED, limit ?? RESCORED), accept);
    this.rescore(query, places, { nearness, best });
    const background = BACKGROUND_SHARE * nearestMean(this.rows, query, this.background);
    const kept = best.length === limit ? best : withTheRest(best, nearness, { limit, accept });
    const shared = { background, rawCosine: (place: number) => this.rawCosine(query, place) };
    return kept.map((i) => new DenseMatch(positions?.[i] ?? i, places[i]!, nearness[i]!, shared));
  }

  /** Where the abilities are, null when the space lacks one of them. Remembered by array, which must not change. */
  private placesOf(abilities: readonly AbilityText[]): Int32Array | null {
    const known = this.remembered.get(abilities);
    if (known) return known;
    const places = Int32Array.from(abilities, ({ key }) => this.placeOf.get(key) ?? -1);
    if (places.includes(-1)) return null;
    this.remembered.set(abilities, places);
    return places;
  }

  /** Looks closer at the best and puts them in order. The others are pressed below the last of them. */
  private rescore(query: CentredQuery, places: Int32Array, { nearness, best }: Ranking): void {
    if (best.length === 0) return;
    for (const i of best) {
      const examples = nearestMean(this.rows, query, this.profiles[places[i]!]!.rows);
      nearness[i] = (nearness[i]! + examples) / 2;
    }
    best.sort((a, b) => nearness[b]! - nearness[a]! || a - b);
    const floor = nearness[best.at(-1)!]!;
    const close = marked(nearness.length, best);
    for (let i = 0; i < nearness.length; i++) if (nearness[i]! > floor && close[i] === 0) nearness[i] = floor;
  }

  /** Cosine with the description, nothing subtracted. */
  private rawCosine(query: CentredQuery, place: number): number {
    return dotAt(query.raw, this.rows.values, this.profiles[place]!.rows[0]! * this.rows.dimensions);
  }
}

interface Comparison extends MatchOptions {
  query: CentredQuery;
  places: Int32Array;
  /** What the caller calls these places; absent: as they are numbered here. */
  positions?: readonly number[];
}

interface Ranking {
  nearness: Float32Array;
  best: number[];
}

/** Among very many, only hundreds are worth a full look. */
function needsShortlist(places: Int32Array, { limit }: MatchOptions): boolean {
  return limit !== undefined && limit <= SHORTLISTED / 4 && places.length > 2 * SHORTLISTED;
}

/** 1 at the positions given, 0 elsewhere. */
function marked(length: number, positions: readonly number[]): Uint8Array {
  const marks = new Uint8Array(length);
  for (const position of positions) marks[position] = 1;
  return marks;
}

function withTheRest(
  best: readonly number[],
  nearness: Float32Array,
  { limit, accept = () => true }: MatchOptions,
): number[] {
  const close = marked(nearness.length, best);
  const other = (position: number) => close[position] === 0 && accept(position);
  if (limit !== undefined) return [...best, ...bestPositions(nearness, limit - best.length, other)];
  const all = [...best];
  for (let i = 0; i < nearness.length; i++) if (other(i)) all.push(i);
  return all;
}

/** What all matches of one query share. */
interface SharedByMatches {
  background: number;
  rawCosine: (place: number) => number;
}

/** A match whose raw cosine, needed for the few that are recorded, is computed when it is read. */
class DenseMatch implements Match {
  readonly by = 'dense';
  readonly degraded = false;

  constructor(
    readonly position: number,
    private readonly place: number,
    private readonly nearness: number,
    private readonly shared: SharedByMatches,
  ) {}

  get closeness(): number {
    return this.nearness / TEMPERATURE;
  }

  get cosine(): number {
    return this.shared.rawCosine(this.place);
  }

  get fit(): number {
    return 1 / (1 + Math.exp(-(this.nearness - this.shared.background - ON_TOPIC.threshold) / ON_TOPIC.width));
  }
}
