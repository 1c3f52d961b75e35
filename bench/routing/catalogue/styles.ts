/**
 * How people say things: with or without a subject line, a greeting, thanks, other words for the same. What a phrase
 * asks for stays; how it is put varies with the seed.
 */
import type { Language } from './index';

export interface StyleOptions {
  language: Language;
  /** Name of the ability, for those who name what they want; absent for texts that no ability is for. */
  topic?: string;
  random: () => number;
}

/** So many of the texts say what they are about before they say it. */
const WITH_SUBJECT = 0.4;
const WITH_OPENING = 0.25;
const WITH_CLOSING = 0.25;

const SUBJECTS = ['{topic}: ', '{topic} - ', 'about {topic}, ', 'need help with {topic}, ', 'question on {topic}. '];

const OPENINGS: Record<Language, readonly string[]> = {
  en: ['hi, ', 'hello there, ', 'please help, ', 'quick question: ', 'hey, ', 'so, ', 'good morning, ', 'ok '],
  zh: ['你好，', '请问，', '麻烦一下，', '在吗，', '急，', '早上好，'],
};

const CLOSINGS: Record<Language, readonly string[]> = {
  en: [', thanks', ' please', ', can you help', ' as soon as possible', ', cheers', ' if you can', ', many thanks'],
  zh: ['，谢谢', '，麻烦了', '，尽快', '，拜托', '，帮帮忙'],
};

/** Other words for the same, applied as they come. */
const SYNONYMS: readonly (readonly [RegExp, string])[] = [
  [/\bI want to\b/, "I'd like to"],
  [/\bI need\b/, 'I require'],
  [/\bhow do I\b/, "what's the way to"],
  [/\bwhere's\b/, 'where is'],
  [/\bshow\b/, 'let me see'],
  [/\btell me\b/, 'let me know'],
  [/\bcan I\b/, 'may I'],
  [/\bget\b/, 'obtain'],
  [/\bsend\b/, 'forward'],
];

/** One way of saying `phrase`. */
export function styled(phrase: string, { language, topic, random }: StyleOptions): string {
  const chance = (share: number) => random() < share;
  const any = (list: readonly string[]) => list[Math.floor(random() * list.length)]!;
  let text = phrase;
  if (language === 'en' && chance(0.5)) for (const [from, to] of SYNONYMS) text = text.replace(from, to);
  if (topic !== undefined && language === 'en' && chance(WITH_SUBJECT)) {
    text = any(SUBJECTS).replace('{topic}', topic.replaceAll('_', ' ')) + text;
  } else if (chance(WITH_OPENING)) text = any(OPENINGS[language]) + text;
  return chance(WITH_CLOSING) ? text + any(CLOSINGS[language]) : text;
}
