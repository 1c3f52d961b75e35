/**
 * Letters that look like Latin ones (the usual part of Unicode's confusables.txt, UTS #39 § 4): Cyrillic,
 * Greek, Armenian and a few letter-like signs. Compared after lower-casing and NFKC, so capitals that have
 * a look-alike only as capitals (Ρ/P, Н/H, В/B) are listed by their capital form as well.
 */

/** Latin letter → its look-alikes. */
const LOOK_ALIKES: Record<string, string> = {
  a: 'аɑα',
  A: 'АΑ',
  b: 'Ьƅ',
  B: 'ВΒ',
  c: 'сϲ',
  C: 'СϹ',
  d: 'ԁ',
  e: 'еєҽ',
  E: 'ЕΕ',
  g: 'ɡց',
  h: 'һհ',
  H: 'НΗ',
  i: 'іιıɩ',
  I: 'ІΙӀ',
  j: 'јϳ',
  J: 'ЈͿ',
  k: 'кκ',
  K: 'КΚ',
  l: 'ӏɭ',
  m: 'м',
  M: 'МΜϺ',
  n: 'ո',
  N: 'Ν',
  o: 'оοօσ',
  O: 'ОΟՕ',
  p: 'рρ',
  P: 'РΡ',
  q: 'ԛզ',
  r: 'г',
  s: 'ѕ',
  S: 'ЅՏ',
  t: 'тτ',
  T: 'ТΤ',
  u: 'υսʋ',
  v: 'ѵν',
  w: 'ԝѡω',
  x: 'хχ',
  X: 'ХΧ',
  y: 'уγү',
  Y: 'УΥҮ',
  z: 'ᴢ',
  Z: 'Ζ',
};

const TO_LATIN = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([latin, others]) => [...others].map((other) => [other, latin] as const)),
);

/** Text with look-alike letters of other scripts replaced by the Latin ones they resemble; case is kept. */
export function latinLookAlike(text: string): string {
  let folded = '';
  for (const char of text) folded += TO_LATIN.get(char) ?? char;
  return folded;
}
