import type { AbilityText, Match, MatchOptions } from '../../protocol/matching';
import { BACKGROUND_TEXTS } from '../../protocol/background-texts';
import { bestPositions } from './best-first';
import { Centroids } from './centroids';
import { holdOut } from './held-out';
import { foldText, SCRIPT_NAMES } from './language';
import { Profiles } from './profiles';
import { breathe } from './slices';
import { Topicality } from './topicality';
import { centredCosine, centreQuery, dotAt, layOut, type CentredQuery, type VectorRows } from './vector-space';
import { Whitening } from './whitening';

/** Abilities whose examples are compared one by one; the others are placed by their centroid alone. */
const RESCORED = 32;
/** Abilities looked at in full after a coarse look at all, when there are more than twice as many. */
const SHORTLISTED = 256;
/** What the nearest single text adds to the nearness of the centroid: a request that was foreseen should win. */
const NEAREST_WEIGHT = 0.1;
/** Nearness that makes an ability e times less likely; with it the shares of the candidates are calibrated (ECE 0.03). */
const TEMPERATURE = 0.05;
/** For "is this on topic at all" the raw cosine tells most, and the centred one a little more. */
const TOPIC_WEIGHT = 0.05;
/** Texts that the shared covariance is estimated from; more change nothing but the time it takes. */
const COVARIANCE_TEXTS = 2048;

/**
 * Vectors of a fixed set of abilities, ready to be compared with queries. The recipe is the one that measured best
 * with a small multilingual model (docs/routing-quality.md): subtract the mean vector of each language (otherwise
 * Chinese queries stick to Chinese descriptions whatever they say); compare with the mean of each ability's texts
 * under a shrunk shared covariance, which is linear discriminant analysis; add the nearest single text.
 */
export class MeaningSpace {
  private readonly placeOf = new Map<string, number>();
  private readonly remembered = new WeakMap<readonly AbilityText[], Int32Array>();
  /** Set by {@link build} once the rest is there to measure it with. */
  private topicality = Topicality.measure({ background: SCRIPT_NAMES.map(() => []), held: [] });

  private constructor(
    private readonly rows: VectorRows,
    private readonly profiles: Profiles,
    private readonly whitening: Whitening,
    private readonly centroids: Centroids,
  ) {
    profiles.abilities.forEach(({ key }, place) => this.placeOf.set(key, place));
  }

  /** Every text that a space of these abilities needs a vector of, in a stable order, each once. */
  static textsOf(abilities: readonly AbilityText[]): string[] {
    return [...new Set([...BACKGROUND_TEXTS, ...abilities.flatMap((ability) => ability.texts)].map(foldText))];
  }

  /** `vectors` belong to {@link textsOf} the same abilities, in its order. Lets others run while it works. */
  static async build(abilities: readonly AbilityText[], vectors: readonly Float32Array[]): Promise<MeaningSpace> {
    const rows = layOut(MeaningSpace.textsOf(abilities), vectors);
    const distinct = [...new Map(abilities.map((ability) => [ability.key, ability])).values()];
    const profiles = new Profiles(rows, distinct, (text) => rows.rowOf.get(foldText(text))!);
    const means = profiles.means();
    await breathe();
    const whitening = await Whitening.of(profiles.residuals(means, COVARIANCE_TEXTS), rows.dimensions);
    const held = holdOut({ rows, profiles, means, whitening });
    const centroids = await Centroids.of(means, whitening);
    const space = new MeaningSpace(rows, profiles, whitening, centroids);
    space.topicality = Topicality.measure({
      background: await space.backgroundNearness(),
      held: held.map((texts) => texts.map(({ raw, whitened }) => topicNearness(raw, whitened))),
    });
    return space;
  }

  /** True when every ability can be compared here. */
  covers(abilities: readonly AbilityText[]): boolean {
    return this.placesOf(abilities) !== null;
  }

  abilities(): AbilityText[] {
    return [...this.profiles.abilities];
  }

  /** The stored vector of a text, so that a rebuilt space need not ask for it again. */
  vectorOf(text: string): Float32Array | undefined {
    const row = this.rows.rowOf.get(text);
    if (row === undefined) return undefined;
    return this.rows.values.subarray(row * this.rows.dimensions, (row + 1) * this.rows.dimensions);
  }

  /** See {@link Matcher.similarities}; for abilities that the space {@link covers} only. */
  match(text: string, vector: Float32Array, abilities: readonly AbilityText[], options: MatchOptions = {}): Match[] {
    return this.matchPlaces(this.prepared(text, vector), this.placesOf(abilities) ?? new Int32Array(), options);
  }

  private prepared(text: string, vector: Float32Array): PreparedQuery {
    const query = centreQuery(this.rows, text, vector);
    return { ...query, whitened: this.whitening.apply(query.centred) };
  }

  private matchPlaces(query: PreparedQuery, places: Int32Array, options: MatchOptions): DenseMatch[] {
    if (!needsShortlist(places, options)) return this.compare({ query, places, ...options });
    const glimpse = this.centroids.scanCoarsely(query.whitened, places);
    // Nearly always most are accepted; then it is much cheaper to ask only about the nearest few.
    const hopeful = this.compareListed(
      { query, places, ...options },
      bestPositions(glimpse, SHORTLISTED, () => true),
    );
    if (hopeful.length === options.limit) return hopeful;
    const { accept = () => true } = options;
    return this.compareListed({ query, places, limit: options.limit }, bestPositions(glimpse, SHORTLISTED, accept));
  }

  private compareListed({ query, places, limit, accept = () => true }: Comparison, listed: number[]): DenseMatch[] {
    const own = Int32Array.from(listed, (position) => places[position]!);
    const acceptListed = (i: number) => accept(listed[i]!);
    return this.compare({ query, places: own, limit, accept: acceptListed, positions: listed });
  }

  private compare({ query, places, positions, limit, accept = () => true }: Comparison): DenseMatch[] {
    const whitened = this.centroids.scan(query.whitened, places);
    const nearness = new Float32Array(whitened.length);
    for (let i = 0; i < nearness.length; i++) nearness[i] = whitened[i]! * (1 + NEAREST_WEIGHT);
    const best = bestPositions(nearness, Math.min(RESCORED, limit ?? RESCORED), accept);
    this.rescore(query, places, { whitened, nearness, best });
    const batch: Batch = { space: this, query, places, whitened, nearness };
    const kept = ranked(nearness, best, { limit, accept });
    return kept.map((i) => new DenseMatch(positions?.[i] ?? i, i, batch));
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
  private rescore(query: PreparedQuery, places: Int32Array, { whitened, nearness, best }: Ranking): void {
    if (best.length === 0) return;
    for (const i of best) nearness[i] = whitened[i]! + NEAREST_WEIGHT * this.nearestText(query, places[i]!);
    best.sort((a, b) => nearness[b]! - nearness[a]! || a - b);
    const floor = nearness[best.at(-1)!]!;
    const close = marked(nearness.length, best);
    for (let i = 0; i < nearness.length; i++) if (nearness[i]! > floor && close[i] === 0) nearness[i] = floor;
  }

  private nearestText(query: CentredQuery, place: number): number {
    let nearest = -1;
    for (const row of this.profiles.membersOf(place)) {
      nearest = Math.max(nearest, centredCosine(this.rows, query, row));
    }
    return nearest;
  }

  /** Cosine with the description, nothing subtracted. */
  rawCosine(query: CentredQuery, place: number): number {
    return dotAt(query.raw, this.rows.values, this.profiles.membersOf(place)[0]! * this.rows.dimensions);
  }

  /** Whether a query that is so near is on topic, 0–1. */
  fit(query: CentredQuery, topic: number): number {
    return this.topicality.fit(topic, query.script);
  }

  /** How near a query is to an ability as far as being on topic goes. */
  topicNearness(query: CentredQuery, place: number, whitened: number): number {
    return topicNearness(this.rawNearness(query, place), whitened);
  }

  /** Cosine with the mean of the ability's raw vectors. */
  private rawNearness(query: CentredQuery, place: number): number {
    let sum = 0;
    for (const row of this.profiles.membersOf(place))
      sum += dotAt(query.raw, this.rows.values, row * this.rows.dimensions);
    return sum / Math.max(1e-9, this.profiles.rawLengths[place]!);
  }

  /** How near each everyday sentence is to the ability nearest to it, by script. */
  private async backgroundNearness(): Promise<number[][]> {
    const nearness: number[][] = SCRIPT_NAMES.map(() => []);
    const places = Int32Array.from(this.profiles.abilities, (_, place) => place);
    for (const text of BACKGROUND_TEXTS.map(foldText)) {
      const query = this.prepared(text, this.vectorOf(text)!);
      const [best] = this.matchPlaces(query, places, { limit: 1 });
      if (!best) break;
      nearness[query.script]!.push(best.topic);
      await breathe();
    }
    return nearness;
  }
}

function topicNearness(raw: number, whitened: number): number {
  return raw + TOPIC_WEIGHT * whitened;
}

interface PreparedQuery extends CentredQuery {
  /** {@link CentredQuery.centred} in the basis in which abilities are told apart. */
  readonly whitened: Float32Array;
}

interface Comparison extends MatchOptions {
  query: PreparedQuery;
  places: Int32Array;
  /** What the caller calls these places; absent: as they are numbered here. */
  positions?: readonly number[];
}

interface Ranking {
  /** Nearness to the centroid alone. */
  whitened: Float32Array;
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

/** Those that were looked at closely, then the others: the next best up to the limit, without one all in their order. */
function ranked(
  nearness: Float32Array,
  best: readonly number[],
  { limit, accept = () => true }: MatchOptions,
): readonly number[] {
  if (best.length === limit) return best;
  const close = marked(nearness.length, best);
  const other = (position: number) => close[position] === 0 && accept(position);
  if (limit !== undefined) return [...best, ...bestPositions(nearness, limit - best.length, other)];
  // Made in its full length: a list that grows to a thousand is copied ten times on the way.
  const all = new Array<number>(nearness.length);
  let count = 0;
  for (const position of best) all[count++] = position;
  for (let position = 0; position < nearness.length; position++) if (other(position)) all[count++] = position;
  all.length = count;
  return all;
}

/** What all matches of one query share. */
interface Batch {
  space: MeaningSpace;
  query: PreparedQuery;
  places: Int32Array;
  whitened: Float32Array;
  nearness: Float32Array;
}

/** A match whose raw cosine and fit, needed for the few that are recorded, are computed when they are read. */
class DenseMatch implements Match {
  constructor(
    readonly position: number,
    private readonly row: number,
    private readonly batch: Batch,
  ) {}

  get by(): 'dense' {
    return 'dense';
  }

  get degraded(): boolean {
    return false;
  }

  get closeness(): number {
    return this.batch.nearness[this.row]! / TEMPERATURE;
  }

  get cosine(): number {
    const { space, query, places } = this.batch;
    return space.rawCosine(query, places[this.row]!);
  }

  /** See {@link topicNearness}. */
  get topic(): number {
    const { space, query, places, whitened } = this.batch;
    return space.topicNearness(query, places[this.row]!, whitened[this.row]!);
  }

  get fit(): number {
    const { space, query } = this.batch;
    return space.fit(query, this.topic);
  }
}
