/** Evaluates one set: the product, and the baselines in the same run. */
import { setTimeout as delay } from 'node:timers/promises';
import { LexicalMatcher } from '../../src/embeddings';
import type { Embedder } from '../../src/protocol/matching';
import { BACKGROUND_TEXTS } from '../../src/protocol/background-texts';
import { SemanticMatcher } from '../../src/routing';
import { foldText } from '../../src/routing/meaning/language';
import type { Progress } from '../progress';
import { bm25, dense, lexical, toAnswer, type Baseline } from './baselines';
import type { LabelledQuery, LabelledSet } from './labelled-set';
import { ON_TOPIC_FIT, Product, type ProductAnswer } from './product';
import { calibrationOf, scoresOf, type Answer, type Bin, type Scores } from './scores';

export interface LanguageResult {
  n: number;
  n_offtopic: number;
  ours: Scores;
  baselines: Record<string, Scores>;
}

/** How far the confidence can be believed. */
export interface Calibration {
  /** Of `confidence`, the chance that the first hit is right, over all queries; off-topic ones have no right one. */
  ece: number;
  bins: Bin[];
  /** Of `fit`, at 0.5: queries on topic that would be refused, and off topic that would be taken. */
  false_refusals: number;
  false_acceptances: number | null;
}

export interface SetResult {
  set: string;
  /** Queries that have a right answer. */
  n: number;
  n_offtopic: number;
  abilities: number;
  examples: number;
  ours: Scores;
  baselines: Record<string, Scores>;
  by_language: Record<string, LanguageResult>;
  calibration: Calibration;
}

export interface EvaluateOptions {
  /** Null: routing is by wording. */
  embedder: Embedder | null;
  progress: Progress;
}

/** Texts sent to the embedder at once. */
const BATCH = 16;
/** A starved machine is waited for: an evaluation may take its time, and what was embedded is kept. */
const TRIES = 10;
/** Longer than the embedder leaves an endpoint alone after a failure. */
const PAUSE_MS = 6_000;

/** Every text of a set, as it is embedded. */
export function textsOf({ abilities, queries }: LabelledSet): string[] {
  const own = abilities.flatMap(({ description, examples }) => [description, ...examples]);
  return [...new Set([...BACKGROUND_TEXTS, ...own, ...queries.map(({ text }) => text)].map(foldText))];
}

/** Steps of {@link evaluate}. */
export function stepsOf(set: LabelledSet, { embedder }: Pick<EvaluateOptions, 'embedder'>): number {
  return set.queries.length + (embedder ? textsOf(set).length : 0);
}

export async function evaluate(set: LabelledSet, { embedder, progress }: EvaluateOptions): Promise<SetResult> {
  const baselines: Baseline[] = [await lexical(set), bm25(set)];
  if (embedder) {
    progress.phase(`embedding: ${set.name}`);
    await embedAhead(textsOf(set), { embedder, progress });
    baselines.push(...(await dense(set, embedder)));
  }
  progress.phase(`routing: ${set.name}`);
  const fallback = new LexicalMatcher();
  const matcher = embedder ? new SemanticMatcher({ embedder, fallback, patienceMs: 600_000 }) : fallback;
  const product = new Product(set, matcher);
  await product.warm();
  const ours: ProductAnswer[] = [];
  const theirs = new Map(baselines.map(({ name }): [string, Answer[]] => [name, []]));
  for (const { text, label } of set.queries) {
    ours.push(await product.answer(text, label));
    for (const { name, judge } of baselines) theirs.get(name)!.push(toAnswer(set, label, await judge(text)));
    progress.step();
  }
  return resultOf(set, ours, theirs);
}

async function embedAhead(texts: string[], { embedder, progress }: { embedder: Embedder; progress: Progress }) {
  for (let start = 0; start < texts.length; start += BATCH) {
    const batch = texts.slice(start, start + BATCH);
    await persistently(() => embedder.embed(batch));
    for (let i = 0; i < batch.length; i++) progress.step();
  }
}

async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await work();
    } catch (error) {
      if (tried === TRIES) throw error;
      await delay(PAUSE_MS);
    }
  }
}

function resultOf(set: LabelledSet, ours: ProductAnswer[], theirs: ReadonlyMap<string, Answer[]>): SetResult {
  const languages = [...new Set(set.queries.map(({ language }) => language))].sort();
  const part = (wanted: (query: LabelledQuery) => boolean): LanguageResult => {
    const pick = <T>(answers: readonly T[]) => answers.filter((_, i) => wanted(set.queries[i]!));
    const own = pick(ours);
    const onTopic = own.filter(({ expected }) => expected !== null).length;
    return {
      n: onTopic,
      n_offtopic: own.length - onTopic,
      ours: scoresOf(own),
      baselines: Object.fromEntries([...theirs].map(([name, answers]) => [name, scoresOf(pick(answers))])),
    };
  };
  return {
    set: set.name,
    abilities: set.abilities.length,
    examples: set.abilities.reduce((sum, { examples }) => sum + examples.length, 0),
    ...part(() => true),
    by_language: Object.fromEntries(
      languages.map((language) => [language, part((query) => query.language === language)]),
    ),
    calibration: calibrationOfAnswers(ours),
  };
}

function calibrationOfAnswers(answers: readonly ProductAnswer[]): Calibration {
  const onTopic = answers.filter(({ expected }) => expected !== null);
  const offTopic = answers.filter(({ expected }) => expected === null);
  const share = (of: readonly Answer[], taken: boolean) =>
    of.filter(({ topic }) => topic >= ON_TOPIC_FIT === taken).length / Math.max(1, of.length);
  return {
    ...calibrationOf(answers.map(({ confidence, ranked, expected }) => [confidence, ranked[0] === expected] as const)),
    false_refusals: Number(share(onTopic, false).toFixed(4)),
    false_acceptances: offTopic.length === 0 ? null : Number(share(offTopic, true).toFixed(4)),
  };
}
