/** What an evaluation works on: abilities with examples, and queries whose right ability is known. */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { scriptOf } from '../../src/routing/meaning/language';
import { seededRandom } from '../statistics';
import { shuffled, type Labelled } from './catalogue';

export interface LabelledAbility {
  label: string;
  description: string;
  examples: string[];
}

export interface LabelledQuery {
  text: string;
  /** Null: no ability is for it. */
  label: string | null;
  language: string;
}

export interface LabelledSet {
  name: string;
  abilities: LabelledAbility[];
  queries: LabelledQuery[];
}

/** A set as it stands in a file: lists of texts with labels, by split. */
export type IntentSplits = Record<string, Labelled[]>;

export interface DrawOptions {
  name: string;
  /** Examples of each label, drawn from `train`. */
  perLabel: number;
  seed: number;
  /** Queries scored at most; off-topic ones are drawn in proportion. Default all. */
  sample?: number;
  /** Default: the label with spaces for underscores. */
  describe?: (label: string) => string;
}

/** That a file is not what it should be, said for people. */
export class SetError extends Error {
  override readonly name = 'SetError';
}

const OFF_TOPIC_LABELS = new Set(['oos', 'oos_label', 'out_of_scope']);
const SHAPE =
  'expected JSON of the shape {"train": [["text", "label"], …], "test": [["text", "label"], …]} with, for off-topic texts, ' +
  '"oos_test": [["text", "oos"], …]';

/** Reads a public intent set. @throws SetError when it cannot be read or has another shape */
export async function readIntentFile(path: string): Promise<IntentSplits> {
  const content = await readFile(path, 'utf8').catch((cause: Error) => {
    throw new SetError(`${path} cannot be read (${cause.message}); give the path of a JSON file with --set`);
  });
  return parseIntentSplits(content, basename(path));
}

/** @throws SetError that names the first place which is not as it should be */
export function parseIntentSplits(content: string, name: string): IntentSplits {
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (cause) {
    throw new SetError(`${name} is not JSON (${(cause as Error).message}); ${SHAPE}`);
  }
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) throw new SetError(`${name}: ${SHAPE}`);
  const splits = new Map(Object.entries(parsed));
  for (const [split, items] of splits) checkSplit(items, `${name}: ${split}`);
  for (const needed of ['train', 'test']) {
    if (!splits.has(needed)) throw new SetError(`${name} has no split "${needed}"; ${SHAPE}`);
  }
  return Object.fromEntries(splits) as IntentSplits;
}

function checkSplit(items: unknown, where: string): void {
  if (!Array.isArray(items)) throw new SetError(`${where} is not a list; ${SHAPE}`);
  const bad = items.findIndex((item) => !isLabelled(item));
  if (bad >= 0) throw new SetError(`${where}[${bad}] is not a pair of text and label; ${SHAPE}`);
}

function isLabelled(item: unknown): item is Labelled {
  return (
    Array.isArray(item) && item.length === 2 && item.every((part) => typeof part === 'string' && part.trim() !== '')
  );
}

/**
 * Examples from `train`, queries from `test` and `oos_test`; the same seed draws the same.
 * @throws SetError when `train` has fewer than two labels, or nothing is there to score
 */
export function drawSet(splits: IntentSplits, { name, perLabel, seed, sample, describe }: DrawOptions): LabelledSet {
  const random = seededRandom(seed);
  const texts = new Map<string, string[]>();
  for (const [text, label] of splits.train ?? []) {
    if (OFF_TOPIC_LABELS.has(label)) continue;
    texts.set(label, [...(texts.get(label) ?? []), text]);
  }
  const spelled = describe ?? ((label: string) => label.replaceAll('_', ' '));
  const abilities = [...texts].map(([label, own]) => ({
    label,
    description: spelled(label),
    examples: shuffled([...new Set(own)], random).slice(0, perLabel),
  }));
  if (abilities.length < 2)
    throw new SetError(`${name}: "train" has ${abilities.length} labels, at least 2 are needed`);
  const queries = queriesOf(splits, texts);
  if (queries.length === 0) throw new SetError(`${name}: "test" has no text with a label of "train"`);
  return { name, abilities, queries: sampled(queries, sample, random) };
}

/** What cannot be right, because its label has no examples, is left out. */
function queriesOf(splits: IntentSplits, known: ReadonlyMap<string, unknown>): LabelledQuery[] {
  return [...(splits.test ?? []), ...(splits.oos_test ?? [])].flatMap(([text, label]): LabelledQuery[] => {
    if (OFF_TOPIC_LABELS.has(label)) return [{ text, label: null, language: languageOf(text) }];
    return known.has(label) ? [{ text, label, language: languageOf(text) }] : [];
  });
}

function sampled(queries: LabelledQuery[], sample: number | undefined, random: () => number): LabelledQuery[] {
  if (sample === undefined || sample >= queries.length) return queries;
  return shuffled(queries, random).slice(0, sample);
}

const LANGUAGES: Record<string, string> = { han: 'zh', kana: 'ja', hangul: 'ko' };

/** Where the script tells it, the language; else the script. */
export function languageOf(text: string): string {
  const script = scriptOf(text);
  return LANGUAGES[script] ?? script;
}
