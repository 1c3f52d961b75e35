/**
 * What docs/delivery.md promises of one business key, against what was asked of the deduplication store, what handlers did, what their
 * effects were and what anybody was told. `exactly_once`: one result, never replaced; no handler begins once it is recorded, and of
 * attempts that overlap only the newest records. `at_least_once`: the same result for everybody, unless a run went without the store.
 * Neither promises that a handler runs once.
 */

/** A question to the store when a delivery began. Times: the machine's monotonic clock, ms, the same for all processes. */
export interface Begin {
  id: string;
  /** Null: it only looked (`at_least_once`). */
  fence: string | null;
  asked_ms: number;
  /** Null: its process died before it knew. */
  told_ms: number | null;
  /** `failed`: the store could not be asked, or its answer was lost. */
  answer: 'free' | 'done' | 'superseded' | 'failed' | null;
  /** The recorded result, where that was the answer. */
  output: string | null;
}

/** A result that was to be recorded. */
export interface Complete {
  fence: string;
  /** What was to be recorded. */
  offered: string;
  asked_ms: number;
  told_ms: number | null;
  answer: 'recorded' | 'superseded' | 'failed' | null;
  /** The one that is on record, as far as the answer says. */
  output: string | null;
}

/** One run of the handler. */
export interface HandlerRun {
  reach_id: string;
  attempt: number;
  fence: string;
  started_ms: number;
  /** The question that let it run; null when it ran without one. */
  begin: Begin | null;
  /** What it made; null when it failed or its process was killed before. */
  output: string | null;
}

/** An effect, as the place knows it where it happened; a place that refuses a smaller fence than it has seen. */
export interface Effect {
  fence: string;
  taken_ms: number;
}

/** A result as somebody was told it. */
export interface Told {
  reach_id: string;
  where: string;
  output: string;
}

/** All that is known of one business key of one ability of one agent. Outputs are texts, equal when the JSON is. */
export interface KeyStory {
  key: string;
  semantics: 'exactly_once' | 'at_least_once';
  begins: readonly Begin[];
  completes: readonly Complete[];
  runs: readonly HandlerRun[];
  effects: readonly Effect[];
  told: readonly Told[];
}

/** What can be broken. */
export type KeyRule =
  /** Two results were told of one key. */
  | 'results_differ'
  /** A result was told that no handler made, or under `exactly_once` one that never was recorded. */
  | 'result_unfounded'
  /** The store gave two different results, or recorded over one. */
  | 'record_changed'
  /** Recorded before the handler had made it. */
  | 'recorded_before_work'
  /** Recorded although a newer attempt had claimed the key. */
  | 'stale_record'
  /** The handler began although a result was recorded. */
  | 'ran_after_record'
  /** The handler ran without the question that its semantics need. */
  | 'ran_unasked'
  /** An effect was taken after the result was recorded. */
  | 'effect_after_record'
  /** The key was given to a fence that is not greater than the one before it. */
  | 'claim_order'
  /** An attempt was turned away for a newer one that was never there. */
  | 'claim_denied';

/** A broken promise about one key. */
export interface KeyViolation {
  rule: KeyRule;
  key: string;
  /** One sentence with the evidence. */
  message: string;
}

type Check = (story: KeyStory) => [rule: KeyRule, message: string][];

/** Every promise that was broken about these keys; none when all were kept. Pure. */
export function judgeKeys(stories: readonly KeyStory[]): KeyViolation[] {
  return stories.flatMap((story) =>
    CHECKS.flatMap((check) => check(story)).map(([rule, message]) => ({ rule, key: story.key, message })),
  );
}

/** A violation for people. */
export function describeKeyViolation({ rule, key, message }: KeyViolation): string {
  return `${rule} ${key}: ${message}`;
}

/** When a result was on record at the latest, by the first who was told so; infinite while nobody was. */
export function recordedMs({ begins, completes }: Pick<KeyStory, 'begins' | 'completes'>): number {
  const told = [...begins, ...completes].flatMap(({ output, told_ms }) => (output !== null ? (told_ms ?? []) : []));
  return Math.min(Number.POSITIVE_INFINITY, ...told);
}

/** What the store said is on record. */
function recordsOf({ begins, completes }: KeyStory): Set<string> {
  return new Set([...begins, ...completes].flatMap(({ output }) => output ?? []));
}

/** A run of `at_least_once` that the store knows nothing of, as the docs allow: its answer goes out all the same. */
function wentWithoutStore({ semantics, runs, completes }: KeyStory): boolean {
  if (semantics === 'exactly_once') return false;
  const failed = (output: string | null) =>
    completes.findLast(({ offered, answer }) => offered === output && answer !== null)?.answer === 'failed';
  return runs.some(({ begin, output }) => begin?.answer !== 'free' || failed(output));
}

const differingResults: Check = (story) => {
  const outputs = [...new Set(story.told.map(({ output }) => output))];
  if (outputs.length < 2 || wentWithoutStore(story)) return [];
  const tellers = outputs.map((text) => story.told.find(({ output }) => output === text)!);
  const shown = tellers.map(({ where, reach_id, output }) => `${where} of ${reach_id}: ${output}`).join('; ');
  return [['results_differ', `${outputs.length} results were told: ${shown}`]];
};

const unfoundedResults: Check = (story) => {
  const made = new Set(story.runs.flatMap(({ output }) => output ?? []));
  const records = recordsOf(story);
  return [...new Set(story.told.map(({ output }) => output))].flatMap((output): ReturnType<Check> => {
    if (!made.has(output)) return [['result_unfounded', `no handler made ${output}`]];
    if (story.semantics !== 'exactly_once' || records.has(output)) return [];
    return [['result_unfounded', `${output} was told and never recorded`]];
  });
};

const changedRecord: Check = (story) => {
  const records = [...recordsOf(story)];
  return records.length < 2 ? [] : [['record_changed', `the store told ${records.length}: ${records.join('; ')}`]];
};

const earlyRecords: Check = ({ completes, runs }) => {
  const made = new Set(runs.flatMap(({ output }) => output ?? []));
  return completes
    .filter(({ offered }) => !made.has(offered))
    .map(({ offered }) => ['recorded_before_work', `no handler had made ${offered}`]);
};

const staleRecords: Check = ({ begins, completes }) =>
  completes.flatMap((complete): ReturnType<Check> => {
    const { fence, asked_ms, answer } = complete;
    if (answer !== 'recorded') return [];
    const newer = begins.find(
      (begin) => begin.answer === 'free' && begin.fence !== null && begin.fence > fence && begin.told_ms! < asked_ms,
    );
    return newer ? [['stale_record', `fence ${fence} recorded after ${newer.fence} had claimed the key`]] : [];
  });

const lateRuns: Check = (story) => {
  const sinceMs = recordedMs(story);
  return story.runs.flatMap(({ begin, attempt, fence, reach_id, started_ms }): ReturnType<Check> => {
    const began = `attempt ${attempt} of ${reach_id} (fence ${fence}) ran`;
    const isAsked = begin?.answer === 'free';
    // A first attempt of `at_least_once` may go on without a store that is away.
    if (!isAsked && story.semantics === 'at_least_once' && attempt === 1) return [];
    if (!isAsked) return [['ran_unasked', `${began} without an answer of the store`]];
    if (story.semantics === 'exactly_once' && begin.fence !== fence)
      return [['ran_unasked', `${began} under a claim of fence ${begin.fence}`]];
    const beganMs = Math.min(begin.asked_ms, started_ms);
    return beganMs <= sinceMs
      ? []
      : [['ran_after_record', `${began}, ${Math.round(beganMs - sinceMs)} ms after the record`]];
  });
};

/**
 * Of effects that carry their fence, to a place that refuses a smaller one, none can follow the record: an older attempt is refused
 * there, a newer one finds the record and does not run. The same fence is the same attempt.
 */
const lateEffects: Check = (story) => {
  if (story.semantics !== 'exactly_once') return [];
  const sinceMs = recordedMs(story);
  const recorded = story.completes.find(({ answer }) => answer === 'recorded')?.fence;
  return story.effects
    .filter(({ fence, taken_ms }) => taken_ms > sinceMs && fence !== recorded)
    .map(({ fence, taken_ms }) => [
      'effect_after_record',
      `an effect of fence ${fence} was taken ${Math.round(taken_ms - sinceMs)} ms after the record`,
    ]);
};

/** Every run's claim is greater than one that was granted before it was asked for; two reaches that began in the same ms share a fence. */
const disorderedClaims: Check = ({ semantics, runs }) => {
  if (semantics !== 'exactly_once') return [];
  return runs.flatMap((run, index): ReturnType<Check> => {
    const before = runs.find((other, at) => at !== index && isBefore(other, run) && !mayFollow(other, run));
    if (!before) return [];
    const message = `attempt ${run.attempt} of ${run.reach_id} got the key under ${run.fence}, after attempt ${before.attempt} of ${before.reach_id} had it under ${before.fence}`;
    return [['claim_order', message]];
  });
};

function isBefore({ begin: earlier }: HandlerRun, { begin: later }: HandlerRun): boolean {
  const toldMs = earlier?.told_ms ?? Number.POSITIVE_INFINITY;
  return later !== null && toldMs < later.asked_ms;
}

function mayFollow(earlier: HandlerRun, later: HandlerRun): boolean {
  if (earlier.fence !== later.fence) return earlier.fence < later.fence;
  return earlier.reach_id !== later.reach_id || earlier.attempt === later.attempt;
}

const deniedClaims: Check = ({ begins }) =>
  begins
    .filter(({ answer }) => answer === 'superseded')
    .filter(
      ({ fence, told_ms }) =>
        !begins.some((other) => (other.fence ?? '') > (fence ?? '') && other.asked_ms <= (told_ms ?? Infinity)),
    )
    .map(({ fence }) => ['claim_denied', `fence ${fence} was turned away, and no greater one had asked`]);

const CHECKS: readonly Check[] = [
  differingResults,
  unfoundedResults,
  changedRecord,
  earlyRecords,
  staleRecords,
  lateRuns,
  lateEffects,
  disorderedClaims,
  deniedClaims,
];
