/**
 * When a text is on topic. Cosines mean nothing by themselves: where they lie differs by model, by language and by how
 * alike the abilities are. So the scale is measured anew for each set of abilities: everyday sentences show how near
 * a text gets that nobody is for, and examples, compared with their own ability as if they were not part of it, show
 * how near one gets that somebody is for. Between the two, a little nearer to the latter, `fit` is 0.5.
 */

/** Nearness of texts that are known to be off or on topic; for a language the former, over all languages the latter. */
export interface TopicEvidence {
  /** Nearness of the everyday sentences to the ability nearest to each, by script. */
  background: readonly (readonly number[])[];
  /** Nearness of held-out examples to their own ability, by script. */
  held: readonly (readonly number[])[];
}

/** Sentences of everyday life are what some ability is for, so it is their lower quartile that stands for "off topic". */
const BACKGROUND_QUANTILE = 0.25;
/** Without examples, on-topic texts are taken to be so many standard deviations of the background above it. */
const ASSUMED_GAP = 2;
/** The assumption counts as many examples as this. */
const ASSUMED_EXAMPLES = 8;
/** Below this many of a script, its own level is not known and that of everything is used. */
const MIN_TEXTS = 8;
/** Where between off (0) and on topic (1) fit is 0.5; from 0.4 to 0.6 about as many are wrong, more or less on either side. */
const MIDDLE = 0.55;
/** The same for a language that no example is in, though others are: what is foreign to the examples stays farther away. */
const FOREIGN_MIDDLE = 0.3;
/** How sharply fit turns, in units of the distance between off and on topic. */
const WIDTH = 0.2;

/** Turns nearness into `fit`. */
export class Topicality {
  private constructor(
    /** Nearness at which fit is 0.5, by script. */
    private readonly thresholds: Float64Array,
    private readonly width: number,
  ) {}

  static measure({ background, held }: TopicEvidence): Topicality {
    const all = background.flat();
    const levelOf = (own: readonly number[]) => quantile(own.length >= MIN_TEXTS ? own : all, BACKGROUND_QUANTILE);
    const levels = background.map(levelOf);
    const spread = Math.max(1e-6, pooledDeviation(background));
    const gap = Math.max(spread, gapOf(held, { levels, assumed: ASSUMED_GAP * spread }));
    const anyHeld = held.some((own) => own.length >= MIN_TEXTS);
    const thresholds = levels.map((level, script) => {
      const own = held[script] ?? [];
      if (own.length < MIN_TEXTS) return level + (anyHeld ? FOREIGN_MIDDLE : MIDDLE) * gap;
      // Seen from both sides: up from the everyday sentences, and down from this language's own examples.
      return (level + quantile(own, 0.5) + (2 * MIDDLE - 1) * gap) / 2;
    });
    return new Topicality(Float64Array.from(thresholds), WIDTH * gap);
  }

  /** 0–1; below 0.5 is off topic. `script` is the query's, as an index into the evidence. */
  fit(nearness: number, script: number): number {
    return 1 / (1 + Math.exp(-(nearness - this.thresholds[script]!) / this.width));
  }
}

/** How far on-topic texts lie above the background: the median of each script, weighed by how many there are. */
function gapOf(held: TopicEvidence['held'], { levels, assumed }: { levels: number[]; assumed: number }): number {
  let sum = ASSUMED_EXAMPLES * assumed;
  let count = ASSUMED_EXAMPLES;
  held.forEach((values, script) => {
    if (values.length === 0) return;
    sum += values.length * (quantile(values, 0.5) - levels[script]!);
    count += values.length;
  });
  return sum / count;
}

/** Standard deviation around the mean of each script. */
function pooledDeviation(groups: readonly (readonly number[])[]): number {
  let squares = 0;
  let count = 0;
  for (const group of groups) {
    const mean = group.reduce((sum, value) => sum + value, 0) / Math.max(1, group.length);
    for (const value of group) squares += (value - mean) ** 2;
    count += group.length;
  }
  return Math.sqrt(squares / Math.max(1, count));
}

/** Linear interpolation between the two nearest; 0 of nothing. */
function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) return 0;
  const sorted = Float64Array.from(values).sort();
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  return sorted[low]! + (place - low) * (sorted[Math.min(low + 1, sorted.length - 1)]! - sorted[low]!);
}
