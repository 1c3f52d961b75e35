/** Ids that callers choose and that stand in URLs as a segment of their own. Pure. */

/** What is wrong with {@link isPathId} ids that are none. */
export const PATH_ID_RULE = 'must not be . or .., which URLs resolve away (RFC 3986, § 5.2.4), encoded or not';

/** False for the dot segments: no client that follows the URL standard can ask for them. */
export function isPathId(id: string): boolean {
  return id !== '.' && id !== '..';
}
