/**
 * Near misses between names (R15, R22): which known name was probably meant, and why it is near.
 * Pure, and used for ability names, descriptor keys and configuration keys alike.
 */
import { latinLookAlike } from './confusables';
import { wordsOf } from './name-words';

/** How a near miss differs from the known name. */
export type NearReason =
  'separator' | 'case' | 'whitespace' | 'look-alike script' | 'width' | 'spelling' | 'word order' | 'prefix' | 'suffix';

/** A known name near the wanted one. */
export interface NearName {
  name: string;
  /** The differences, most telling first, joined with `, `: `case, separator`. */
  why: string;
}

const SEPARATORS = /[_.\-‐‑‒–—―−·]+/gu;
const SPACE_OR_SEPARATOR = /[\s_.\-‐‑‒–—―−·]+/gu;
/** Shorter prefixes say too little: `a` is a prefix of everything. */
const MIN_PREFIX = 3;
/** The end of a name is often a word that many share. */
const MIN_SUFFIX = 5;
/** Names are at most 128 characters; a longer wanted text is no name and not worth comparing. */
const MAX_COMPARED = 256;
/** Two do for nearly every name, the second of which changes nothing. */
const MAX_ROUNDS = 4;

/**
 * The form under which two names are the same to a reader: width (NFKC), script look-alikes, case and
 * separators folded away, in that order. Two different names with one skeleton are a `name_collision`.
 */
export function skeleton(name: string): string {
  let form = name;
  // What a separator stood between may compose with its neighbour (`a-` before U+0308), so it is folded until it stays as it is.
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const next = folded(form);
    if (next === form) break;
    form = next;
  }
  return form === '' ? name : form; // a name of separators only stands for itself
}

function folded(name: string): string {
  const lookedAt = latinLookAlike(latinLookAlike(name.normalize('NFKC')).toLowerCase());
  return lookedAt.normalize('NFKC').replace(SPACE_OR_SEPARATOR, '');
}

/** Skeletons of known names: the same catalogue is compared again and again. Started afresh when full. */
const skeletons = new Map<string, string>();
const MAX_SKELETONS = 20_000;

function knownSkeleton(name: string): string {
  const known = skeletons.get(name);
  if (known !== undefined) return known;
  if (skeletons.size >= MAX_SKELETONS) skeletons.clear();
  const form = skeleton(name);
  skeletons.set(name, form);
  return form;
}

/** The single-step foldings by which {@link closestNames} explains an equal skeleton. */
const FOLDS: readonly [NearReason, (text: string) => string][] = [
  ['width', (text) => text.normalize('NFKC')],
  ['look-alike script', (text) => latinLookAlike(latinLookAlike(text).toLowerCase())],
  ['case', (text) => text.toLowerCase()],
  ['whitespace', (text) => text.replace(/\s+/gu, '')],
  ['separator', (text) => text.replace(SEPARATORS, '')],
];

/**
 * The known names nearest to `wanted`, nearest first: equal skeletons, then names within an edit distance
 * of a quarter of their length (at least 1, at most 3; adjacent swaps count once), then the same words in another order, then prefixes of at least three
 * characters and suffixes of at least five, either way. `wanted` itself is never returned. Ties are in code-unit order.
 *
 * @param limit how many to return; default 3.
 */
export function closestNames(wanted: string, known: Iterable<string>, limit = 3): NearName[] {
  const text = wanted.slice(0, MAX_COMPARED);
  const form = skeleton(text);
  const near: { name: string; why: string; rank: number }[] = [];
  for (const name of known) {
    if (name === wanted) continue;
    const found = compare(text, form, name);
    if (found !== null) near.push({ name, ...found });
  }
  near.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1));
  return near.slice(0, limit).map(({ name, why }) => ({ name, why }));
}

function compare(wanted: string, form: string, name: string): { why: string; rank: number } | null {
  const known = knownSkeleton(name);
  if (known === form) return { why: differences(wanted, name).join(', '), rank: 0 };
  const allowed = Math.min(3, Math.max(1, Math.floor(Math.max(form.length, known.length) / 4)));
  const distance = editDistance(form, known, allowed);
  if (distance <= allowed && distance < Math.min(form.length, known.length)) return { why: 'spelling', rank: distance };
  if (form.length === known.length && sameWords(wanted, name)) return { why: 'word order', rank: 5 };
  const shorter = Math.min(form.length, known.length);
  const isPrefix = shorter >= MIN_PREFIX && (known.startsWith(form) || form.startsWith(known));
  if (isPrefix || isStem(form, known)) return { why: 'prefix', rank: 10 + Math.abs(form.length - known.length) };
  const isSuffix = shorter >= MIN_SUFFIX && (known.endsWith(form) || form.endsWith(known));
  return isSuffix ? { why: 'suffix', rank: 20 + Math.abs(form.length - known.length) } : null;
}

/** `work_slow` and `slow_work`. */
function sameWords(a: string, b: string): boolean {
  return wordsOf(a).sort().join(' ') === wordsOf(b).sort().join(' ');
}

/** `intent_classify` and `intent_classification`: all but the ending is shared, and it is most of both names. */
function isStem(a: string, b: string): boolean {
  let shared = 0;
  while (shared < a.length && shared < b.length && a[shared] === b[shared]) shared++;
  return shared >= 6 && shared >= 0.6 * Math.max(a.length, b.length);
}

/** The smallest set of foldings that makes both names equal, found by leaving out each that is not needed. */
function differences(wanted: string, name: string): NearReason[] {
  let needed = FOLDS;
  for (const candidate of FOLDS) {
    const without = needed.filter((fold) => fold !== candidate);
    if (fold(wanted, without) === fold(name, without)) needed = without;
  }
  return needed.length > 0 ? needed.map(([reason]) => reason) : ['look-alike script'];
}

function fold(text: string, folds: typeof FOLDS): string {
  return folds.reduce((folded, [, apply]) => apply(folded), text);
}

/**
 * Optimal string alignment distance (insert, delete, replace, swap of neighbours), or `max + 1` as soon as
 * it must exceed `max`.
 */
export function editDistance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, beforeLast[column - 2]! + 1);
      current.push(cost);
    }
    if (Math.min(...current) > max) return max + 1;
    [beforeLast, last] = [last, current];
  }
  return Math.min(last[b.length]!, max + 1);
}
