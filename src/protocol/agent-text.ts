/** What agents say in their own words, as it goes into problem documents, histories and logs. Pure. */

/** Characters of an agent's message that are kept unless told otherwise. */
const MAX_CHARS = 2_000;

/**
 * A message of an agent, safe to show: runs of control, format and other characters that print nothing become one space, so that
 * it can neither move a cursor nor look like another line of a log (CWE-117, CWE-150).
 *
 * @param maxChars UTF-16 units that are kept; never half of a surrogate pair
 */
export function agentText(text: string, maxChars = MAX_CHARS): string {
  const clean = text.replace(/[^\P{C}]+/gu, ' ').trim();
  return clean.slice(0, maxChars).replace(/[\ud800-\udbff]$/, '');
}
