/** Findings about a document, for people: each is said once, whether the message tells of it or its own line does. */
import { ERROR_TABLE, isErrorCode } from '../../protocol/error-codes';
import type { FieldError } from '../../protocol/reach-error';
import type { CliIo } from '../io';

/** Stands for what was taken out of a message; no message has one, since it is not printable. */
const CUT = '\u0000';
/** Words that are looked for without their place before them: fewer may be there by accident. */
const LONG_ENOUGH = 20;

/** A message and the findings to be listed below it. */
export interface SaidOnce {
  /** What the message says besides the findings. */
  headline: string;
  listed: readonly FieldError[];
  /** Findings that there are but nobody lists. */
  more: number;
}

/**
 * Takes the findings out of a message that quotes them, as one line of a log needs it; one about the whole document stays
 * there, where it reads better. A message of nothing else gives way to the title of its code.
 */
export function saidOnce(code: string, message: string, findings: readonly FieldError[]): SaidOnce {
  let rest = message;
  const listed = findings.filter((finding) => {
    if (isWhole(finding) && saysAll(message, finding)) return false;
    rest = rest.replace(quoteOf(finding), CUT);
    return true;
  });
  const [, unquoted] = new RegExp(`${CUT} ?\\(and (\\d+) more\\)`).exec(rest) ?? [];
  const quoted = rest.split(CUT).length - 1;
  const more = unquoted === undefined ? 0 : Math.max(0, quoted + Number(unquoted) - findings.length);
  return { headline: tidied(rest) || titleOf(code), listed, more };
}

/** A line for each finding: where, what, and how to mend it. */
export function renderFindings({ listed, more }: Pick<SaidOnce, 'listed' | 'more'>, color: CliIo['color']): string[] {
  const lines = listed.map(
    ({ pointer, message, fix }) => `  ${color.cyan(pointer || '/')}  ${message}${fix ? color.dim(` – ${fix}`) : ''}`,
  );
  return more > 0 ? [...lines, color.dim(`  and ${more} more`)] : lines;
}

const isWhole = ({ pointer }: FieldError) => pointer === '';

const saysAll = (text: string, { message, fix }: FieldError) =>
  text.includes(message) && (fix === undefined || text.includes(fix));

/** Where a finding is quoted: its place, what, and how to mend it, as far as they are there. */
function quoteOf({ pointer, message, fix }: FieldError): RegExp {
  const dotted = pointer.slice(1).replaceAll('/', '.');
  const places = pointer === '' ? 'the [a-z ]+' : [pointer, pointer.slice(1), dotted].map(escaped).join('|');
  const place = `(?:${places}):? `;
  const mend = fix === undefined ? '' : `(?:[,;.]? ${escaped(fix)})?`;
  return new RegExp(`${message.length < LONG_ENOUGH ? place : `(?:${place})?`}${escaped(message)}${mend}`);
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Without the gaps, and the punctuation around them. */
function tidied(text: string): string {
  if (!text.includes(CUT)) return text;
  return text
    .replace(new RegExp(`${CUT}(?: ?\\(and \\d+ more\\))?`, 'g'), '')
    .split('; ')
    .map((part) => part.replace(/^[\s;,.]+|[\s:;,]+$/g, ''))
    .filter((part) => part !== '')
    .join('; ');
}

const titleOf = (code: string) => (isErrorCode(code) ? ERROR_TABLE[code].title : '');
