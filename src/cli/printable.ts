/**
 * What may reach a terminal. Agents, and whoever registers them, choose names, descriptions, answers and error messages;
 * none of these may move the cursor, set a title, or turn the reading order around (CWE-150; UAX #9 for the latter).
 */

/** C0 but line feed and tab, DEL, C1, and the bidi embeddings, overrides and isolates. */
const UNSAFE = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;
const REPLACEMENT = '\ufffd';

/**
 * A value whose every string, keys included, is safe to print: U+FFFD stands for each unsafe character. CR LF becomes LF. What is
 * not JSON passes as it is.
 */
export function printable<T>(value: T): T {
  if (typeof value === 'string') return value.replace(/\r\n/g, '\n').replace(UNSAFE, REPLACEMENT) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => printable(item)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [printable(key), printable(item)])) as T;
}

/** JSON, indented: exactly the value, with the unsafe characters that JSON leaves alone escaped too. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(UNSAFE, escape);
}

/** The same on one line: for streams of values. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, escape);
}

const escape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * The same client, of which every answer is {@link printable}. Only the `output` of a reach stays exact, because it may be printed
 * as JSON: `renderAnswer` makes it safe. Errors are made safe by `renderError`.
 */
export function printableAnswers<T extends object>(client: T): T {
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const answer: unknown = Reflect.apply(member, target, args);
        return isStream(answer) ? printableEach(answer) : Promise.resolve(answer).then(exceptOutput);
      };
    },
  });
}

const isStream = (answer: unknown): answer is AsyncIterable<unknown> =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer;

async function* printableEach(answers: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  for await (const answer of answers) yield printable(answer);
}

function exceptOutput(answer: unknown): unknown {
  const clean = printable(answer);
  if (typeof answer !== 'object' || answer === null || !('output' in answer)) return clean;
  return { ...(clean as object), output: answer.output };
}
