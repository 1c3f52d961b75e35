/** Pages of lists that are read from memory, by name: `GET /v1/agents` and `GET /v1/abilities`. */
import { z } from 'zod';

/** Most items of a page; without `limit` all of them come at once. */
export const MAX_CATALOGUE_PAGE = 1_000;

/** The query of both lists. */
export const cataloguePageQuery = z.strictObject({
  cursor: z.base64url().max(1_024).optional().meta({ description: '`next_cursor` of the page before.' }),
  limit: z.coerce.number().int().min(1).max(MAX_CATALOGUE_PAGE).optional(),
});

/** Which part of a list is asked for. */
export type CataloguePageQuery = z.output<typeof cataloguePageQuery>;

/**
 * One page of a list, by name; the cursor is the last name, so a list that changes meanwhile neither repeats nor leaves out
 * what stayed.
 */
export function cataloguePage<T extends { name: string }>(
  items: readonly T[],
  { cursor, limit }: CataloguePageQuery,
): { items: T[]; next_cursor?: string } {
  const after = cursor === undefined ? null : Buffer.from(cursor, 'base64url').toString();
  const rest = items.filter(({ name }) => after === null || name > after).sort((a, b) => (a.name < b.name ? -1 : 1));
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const isMore = last !== undefined && page.length < rest.length;
  return { items: page, ...(isMore && { next_cursor: Buffer.from(last.name).toString('base64url') }) };
}
