/**
 * Which language a text is in, as far as centring vectors needs it: by script. Texts of one script cluster in
 * embedding space whatever they say, which is what has to be taken out.
 */

const SCRIPTS = [
  ['han', /\p{Script=Han}/gu],
  ['kana', /[\p{Script=Hiragana}\p{Script=Katakana}]/gu],
  ['hangul', /\p{Script=Hangul}/gu],
  ['latin', /\p{Script=Latin}/gu],
  ['cyrillic', /\p{Script=Cyrillic}/gu],
  ['arabic', /\p{Script=Arabic}/gu],
] as const;

export type ScriptName = (typeof SCRIPTS)[number][0] | 'other';

/** All names {@link scriptOf} may return, in a fixed order, so that vectors can carry a small number instead. */
export const SCRIPT_NAMES: readonly ScriptName[] = [...SCRIPTS.map(([name]) => name), 'other'];

/** One ideograph or syllable carries about as much as two and a half letters of an alphabet. */
const LETTERS_PER_SIGN: Partial<Record<ScriptName, number>> = { han: 2.5, kana: 2.5, hangul: 2.5 };

/** The script that carries most of the text; a text with any kana is Japanese. `other` when there is no letter. */
export function scriptOf(text: string): ScriptName {
  let best: ScriptName = 'other';
  let most = 0;
  for (const [name, pattern] of SCRIPTS) {
    const weight = (text.match(pattern)?.length ?? 0) * (LETTERS_PER_SIGN[name] ?? 1);
    if (name === 'kana' && weight > 0) return 'kana';
    if (weight > most) {
      best = name;
      most = weight;
    }
  }
  return best;
}

/** What is embedded: full-width and other compatibility forms folded (NFKC), white space collapsed. */
export function foldText(text: string): string {
  return text.normalize('NFKC').replace(/\s+/gu, ' ').trim();
}
