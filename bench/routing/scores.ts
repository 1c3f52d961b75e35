/** The figures of an evaluation: pure functions of what was answered. */

/** What a router, or a baseline, answered to one query. */
export interface Answer {
  /** The label that would have been right; null when none would. */
  expected: string | null;
  /** Best first, at least three where there are as many abilities. */
  ranked: readonly string[];
  /** How much the query seems to be on topic; any scale. */
  topic: number;
  /** 0–1, that the first is right; absent where there is no such figure. */
  confidence?: number;
}

export interface Scores {
  top1: number;
  top3: number;
  macro_f1: number;
  /** Null without off-topic queries. */
  offtopic_auroc: number | null;
}

/** A bin of a reliability diagram. */
export interface Bin {
  from: number;
  to: number;
  count: number;
  confidence: number;
  accuracy: number;
}

export function scoresOf(answers: readonly Answer[]): Scores {
  const onTopic = answers.filter(({ expected }) => expected !== null);
  const among = (count: number) =>
    onTopic.filter(({ expected, ranked }) => ranked.slice(0, count).includes(expected!)).length;
  const share = (count: number) => decimals(count / Math.max(1, onTopic.length));
  return {
    top1: share(among(1)),
    top3: share(among(3)),
    macro_f1: decimals(macroF1(onTopic)),
    offtopic_auroc: aurocOf(answers),
  };
}

/** Mean of the F1 of each label that was expected at least once. */
function macroF1(answers: readonly Answer[]): number {
  const right = new Map<string, number>();
  const expected = new Map<string, number>();
  const answered = new Map<string, number>();
  const count = (counts: Map<string, number>, label: string) => counts.set(label, (counts.get(label) ?? 0) + 1);
  for (const answer of answers) {
    const [first] = answer.ranked;
    count(expected, answer.expected!);
    if (first !== undefined) count(answered, first);
    if (first === answer.expected) count(right, answer.expected!);
  }
  let sum = 0;
  for (const [label, wanted] of expected) sum += (2 * (right.get(label) ?? 0)) / (wanted + (answered.get(label) ?? 0));
  return sum / Math.max(1, expected.size);
}

/** Chance that a query on topic has the higher `topic` than one off topic; ties count half (Mann and Whitney). */
function aurocOf(answers: readonly Answer[]): number | null {
  const sorted = [...answers].sort((a, b) => a.topic - b.topic);
  let wins = 0;
  let offSoFar = 0;
  let on = 0;
  for (let i = 0; i < sorted.length;) {
    let end = i;
    let onHere = 0;
    while (end < sorted.length && sorted[end]!.topic === sorted[i]!.topic) {
      if (sorted[end]!.expected !== null) onHere += 1;
      end += 1;
    }
    const offHere = end - i - onHere;
    wins += onHere * (offSoFar + offHere / 2);
    offSoFar += offHere;
    on += onHere;
    i = end;
  }
  return on === 0 || offSoFar === 0 ? null : decimals(wins / (on * offSoFar));
}

/**
 * Ten bins of confidence with what came of it, and the expected calibration error (Guo et al. 2017): how far, on
 * average, the confidence is from the share that was right.
 */
export function calibrationOf(pairs: readonly (readonly [confidence: number, right: boolean])[]): {
  ece: number;
  bins: Bin[];
} {
  const bins = Array.from({ length: 10 }, (_, i) => ({ from: i / 10, to: (i + 1) / 10, count: 0, sum: 0, right: 0 }));
  for (const [confidence, right] of pairs) {
    const bin = bins[Math.min(9, Math.floor(confidence * 10))]!;
    bin.count += 1;
    bin.sum += confidence;
    if (right) bin.right += 1;
  }
  const used = bins.filter(({ count }) => count > 0);
  const ece = used.reduce((sum, { sum: own, right }) => sum + Math.abs(own - right), 0) / Math.max(1, pairs.length);
  return {
    ece: decimals(ece),
    bins: used.map(({ from, to, count, sum, right }) => ({
      from,
      to,
      count,
      confidence: decimals(sum / count),
      accuracy: decimals(right / count),
    })),
  };
}

function decimals(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
