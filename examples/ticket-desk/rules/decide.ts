/** How the four agents come to an answer: a table of rules and nothing else. No model, no chance, no state. */

/** Payload of `ticket_disposition`; the platform has checked it against the descriptor's `input_schema`. */
export type Ticket = { ticket_id: string; user_message: string; has_photo?: boolean; user_tone?: string };

/** Output of `ticket_disposition`. `confidence` is this agent's own, 0–1; `next_step` is a word for programs. */
export interface Disposition {
  answer: string;
  confidence: number;
  next_step: string;
}

/** A text in the languages that customers write. */
export type Text = Record<Language, string>;
export type Language = 'zh' | 'en';

/** What a rule leads to. */
export interface Outcome {
  answer: Text;
  nextStep: string;
}

/** One row: `when` finds the words in the message, `then` knows what follows from them. */
export interface Rule {
  name: Text;
  when: RegExp;
  then: (ticket: Ticket) => Outcome;
}

/** The first rule that matches decides; `otherwise` is for messages that none of them matches. */
export interface RuleTable {
  rules: readonly Rule[];
  otherwise: (ticket: Ticket) => Outcome;
}

/** How sure a table can be: one rule fits, several do (the first is taken), or none. */
const CONFIDENCE = { one: 0.9, several: 0.75, none: 0.3 } as const;

const UPSET = /^(angry|sad|upset|furious|disappointed)$/i;

/** Applies a table to a ticket. The answer is in the ticket's language and ends with the rule that made it. */
export function decide({ rules, otherwise }: RuleTable, ticket: Ticket): Disposition {
  const language = languageOf(ticket.user_message);
  const hits = rules.flatMap((rule) => {
    const words = rule.when.exec(ticket.user_message)?.[0];
    return words === undefined ? [] : [{ rule, words }];
  });
  const [hit] = hits;
  const { answer, nextStep } = hit ? hit.rule.then(ticket) : otherwise(ticket);
  const because = hit ? BECAUSE[language](hit.rule.name[language], hit.words) : NO_RULE[language];
  const confidence = hits.length > 1 ? CONFIDENCE.several : hit ? CONFIDENCE.one : CONFIDENCE.none;
  return { answer: `${answer[language]}${because}`, confidence, next_step: nextStep };
}

/** Whether the desk was told that this customer is upset. */
export function isUpset({ user_tone = '' }: Ticket): boolean {
  return UPSET.test(user_tone);
}

/** Puts an apology in front when the customer is upset. */
export function kindly(ticket: Ticket, answer: Text): Text {
  return isUpset(ticket) ? { zh: `非常抱歉。${answer.zh}`, en: `I am very sorry. ${answer.en}` } : answer;
}

/** Chinese if there is any Chinese in it: customers mix English words into Chinese, hardly ever the reverse. */
export function languageOf(text: string): Language {
  return /\p{Script=Han}/u.test(text) ? 'zh' : 'en';
}

const BECAUSE: Record<Language, (rule: string, words: string) => string> = {
  zh: (rule, words) => `（规则“${rule}”，因为您提到“${words}”）`,
  en: (rule, words) => ` (rule "${rule}", because you wrote "${words}")`,
};
const NO_RULE: Text = { zh: '（没有规则命中）', en: ' (no rule matched)' };
