import { coreWords, wordsOf } from '../../protocol/name-words';
import { skeleton } from '../../protocol/nearest';

/** Names compared in full when looking for near misses; the comparison is quadratic in their length. */
const MAX_COMPARED = 150;
/** Letters are counted in this many buckets. */
const BUCKETS = 32;
const SHARED_PREFIX = 3;

interface NameForm {
  skeleton: string;
  letters: Uint8Array;
  /** Its words without fillers, sorted: equal for names that differ by word order, fillers, versions or letters' tradition. */
  core: string;
  coreLetters: Uint8Array;
}

/**
 * Remembers the skeleton of each name it has seen, so that judging one registration against a catalogue of
 * thousands of names stays in the order of a millisecond.
 */
export class NameIndex {
  private readonly forms = new Map<string, NameForm>();

  constructor(private readonly capacity = 50_000) {}

  skeletonOf(name: string): string {
    return this.formOf(name).skeleton;
  }

  /**
   * The names worth a full comparison with `name`: those that begin alike, as they are or without
   * fillers and in order, or whose letters differ little, likeliest first. The difference of letter counts is never more than twice the edit distance, so a
   * near miss is left out only when there are more than {@link MAX_COMPARED} likelier ones.
   */
  candidates(name: string, known: Iterable<string>): string[] {
    const form = this.formOf(name);
    const found: { name: string; distance: number }[] = [];
    for (const other of known) {
      const { skeleton: otherSkeleton, letters, core, coreLetters } = this.formOf(other);
      // Fillers and versions differ by many letters and say nothing.
      const distance = Math.min(letterDistance(form.letters, letters), letterDistance(form.coreLetters, coreLetters));
      const sharesPrefix =
        otherSkeleton.startsWith(form.skeleton.slice(0, SHARED_PREFIX)) ||
        core.startsWith(form.core.slice(0, SHARED_PREFIX));
      if (sharesPrefix || distance <= 6) found.push({ name: other, distance });
    }
    return found
      .sort((a, b) => a.distance - b.distance)
      .slice(0, MAX_COMPARED)
      .map((candidate) => candidate.name);
  }

  private formOf(name: string): NameForm {
    const seen = this.forms.get(name);
    if (seen !== undefined) return seen;
    if (this.forms.size >= this.capacity) this.forms.clear();
    const [whole, core] = [skeleton(name), coreOf(name)];
    const form = { skeleton: whole, letters: countLetters(whole), core, coreLetters: countLetters(core) };
    this.forms.set(name, form);
    return form;
  }
}

function coreOf(name: string): string {
  return coreWords(wordsOf(name)).words.toSorted().join(' ');
}

function countLetters(text: string): Uint8Array {
  const counts = new Uint8Array(BUCKETS);
  for (let at = 0; at < text.length; at++) counts[text.charCodeAt(at) % BUCKETS]! += 1;
  return counts;
}

function letterDistance(a: Uint8Array, b: Uint8Array): number {
  let distance = 0;
  for (let at = 0; at < BUCKETS; at++) {
    const difference = a[at]! - b[at]!;
    distance += difference < 0 ? -difference : difference;
  }
  return distance;
}
