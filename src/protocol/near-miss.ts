/**
 * Near misses among names that are to be registered (R15): pairs that a caller would mix up, such as `intent_classify` and
 * `intent_classification`, but not pairs that are meant to differ, such as `refund_create` and `refund_cancel`. Stricter than
 * the hints of `closestNames`, which help somebody who is lost; a warning that is wrong once is not read the second time.
 */
import { editDistance, skeleton } from './nearest';
import { coreWords, isHan, isVersionWord, simplified, wordsOf, type CoreWords } from './name-words';

/** How two names that would be mixed up differ. */
export type NearMissReason =
  | 'spelling'
  | 'ending'
  | 'word order'
  | 'prefix or suffix'
  | 'a version in the name'
  | 'simplified and traditional letters';

/** Words of one letter's difference that are both meant, in pairs. */
const BOTH_MEANT: ReadonlySet<string> = new Set(
  [
    'contact contract',
    'form from',
    'message massage',
    'trail trial',
    'angel angle',
    'desert dessert',
    'insert inset',
    'planning planing',
    'policy police',
    'session cession',
    'unload upload',
    'updated undated',
    'mapping napping',
    'adapter adopter',
    'accept except',
    'reserve reverse',
    'inbound unbound',
    'install instill',
    'relation relations_',
    'import impart',
    'prepaid repaid',
    'prepay repay',
    'charge change',
    'signed singed',
    'casual causal',
  ].flatMap((pair) => {
    const [one, other] = pair.split(' ');
    return [`${one} ${other}`, `${other} ${one}`];
  }),
);

/** Beginnings that turn a word into its opposite or its repetition: these are meant. */
const MEANT_BEGINNING = /^(un|in|im|re|de|dis|non|pre|post|sub|anti|en|ex|co|multi|auto)$/;

/** Shortest word in which a lost or added letter is a slip, and one in which a changed letter is. */
const MIN_SLIP = 5;
const MIN_CHANGED = 6;
/** A shared stem counts from so many letters on, and from this share of the longer word. */
const MIN_STEM = 5;
const STEM_SHARE = 0.5;
/** Endings that a stem takes: what is left of both words must be one of these. */
const ENDING =
  /^(|e|s|es|d|ed|r|er|or|ers|y|ie|ies|ied|ier|iers|ing|ings|ion|ions|ation|ations|ication|ications|ify|ise|ize|iser|izer|ising|izing|isation|ization|ment|ments|al|ance|ence|able|ity|ive|ist|ism|ness|ly|tion|sion|ssion)$/;

/**
 * How two different names would be mixed up; null when they would not. Names that read the same (one skeleton) are no near
 * miss but a collision, and are not judged here.
 */
export function nearMiss(one: string, other: string): NearMissReason | null {
  const [left, right] = [formOf(one), formOf(other)];
  // A name of separators alone has no words.
  if (left.words.length === 0 || right.words.length === 0) return null;
  if ((left.han || right.han) && simplified(skeleton(one)) === simplified(skeleton(other)))
    return 'simplified and traditional letters';
  if (sameWords(left.core.words, right.core.words)) return byDropped(left.core, right.core);
  if (left.sorted === right.sorted) return 'word order';
  return byWords(left.core.words, right.core.words) ?? byWords(left.words, right.words);
}

/** A name as it is compared. */
interface NameForm {
  words: readonly string[];
  core: CoreWords;
  /** The core's words, sorted. */
  sorted: string;
  han: boolean;
}

/** Forms of known names: the same catalogue is compared again and again. Started afresh when full. */
const forms = new Map<string, NameForm>();
const MAX_FORMS = 20_000;

function formOf(name: string): NameForm {
  const known = forms.get(name);
  if (known !== undefined) return known;
  if (forms.size >= MAX_FORMS) forms.clear();
  const words = wordsOf(name);
  const core = coreWords(words);
  const form = { words, core, sorted: core.words.toSorted().join(' '), han: isHan(name) };
  forms.set(name, form);
  return form;
}

/** The same core under different versions is meant; beside none, or with other fillers, it is not. */
function byDropped({ dropped }: CoreWords, other: CoreWords): NearMissReason | null {
  const versions = dropped.filter(isVersionWord);
  const others = other.dropped.filter(isVersionWord);
  if (versions.join() === others.join()) return 'prefix or suffix';
  return versions.length > 0 && others.length > 0 ? null : 'a version in the name';
}

/** Word by word: all must be the same or slips, and at most two of them slips. */
function byWords(left: readonly string[], right: readonly string[]): NearMissReason | null {
  if (left.length !== right.length) return runTogether(left, right);
  const slips: NearMissReason[] = [];
  for (const [at, word] of left.entries()) {
    if (word === right[at]) continue;
    const slip = slipBetween(word, right[at]!);
    if (slip === null) return null;
    slips.push(slip);
  }
  return slips.length <= 2 ? (slips[0] ?? null) : null;
}

/** One name without separators beside one with: `intentclassification`, `intent_classify`. */
function runTogether(left: readonly string[], right: readonly string[]): NearMissReason | null {
  if (left.length !== 1 && right.length !== 1) return null;
  const [whole, parts] = left.length === 1 ? [left[0]!, right] : [right[0]!, left];
  // A word of the other name alone is a broader ability, not the same one.
  if (parts.some((part) => whole === part || slipBetween(whole, part) !== null) || isHan(whole)) return null;
  const joined = parts.join('');
  return whole.length > parts[0]!.length ? slipBetween(whole, joined) : null;
}

/** How two words are a slip of each other; null when they are two words. Numbers are meant. */
function slipBetween(one: string, other: string): 'spelling' | 'ending' | null {
  if (/\p{N}/u.test(one) || /\p{N}/u.test(other) || BOTH_MEANT.has(`${one} ${other}`)) return null;
  if (isSwap(one, other)) return 'spelling';
  if (isHan(one) || isHan(other)) return null;
  if (isStem(one, other)) return 'ending';
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.endsWith(short) && MEANT_BEGINNING.test(long.slice(0, long.length - short.length))) return null;
  const least = short.length === long.length ? MIN_CHANGED : MIN_SLIP;
  // The first letter is the last one to be mistyped; other first letters make other words.
  if (short.length < least || short[0] !== long[0]) return null;
  return editDistance(short, long, 1) === 1 ? 'spelling' : null;
}

/** Two neighbours changed places, the most usual slip, in any script and length. */
function isSwap(one: string, other: string): boolean {
  if (one.length !== other.length || one.length < 3) return false;
  const at = [...one].findIndex((char, position) => char !== other[position]);
  return (
    at >= 0 &&
    one[at] === other[at + 1] &&
    one[at + 1] === other[at] &&
    one[at] !== one[at + 1] &&
    one.slice(at + 2) === other.slice(at + 2)
  );
}

function isStem(one: string, other: string): boolean {
  let shared = 0;
  while (shared < one.length && shared < other.length && one[shared] === other[shared]) shared++;
  // `classif-y` and `classif-ication`, but also `order` and `orders`: a whole word is a stem from four letters on.
  const whole = shared === Math.min(one.length, other.length);
  if (shared < (whole ? MIN_STEM - 1 : MIN_STEM)) return false;
  if (shared < STEM_SHARE * Math.max(one.length, other.length)) return false;
  return ENDING.test(one.slice(shared)) && ENDING.test(other.slice(shared));
}

function sameWords(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((word, at) => word === right[at]);
}
