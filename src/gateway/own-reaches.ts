import type { RequestHandler } from 'express';
import { handle, identityOf, param } from './http';
import type { ReachReader } from './reach-reader';
import { notFound } from './temporal-errors';

/**
 * Lets whoever shows only a reach token at the reaches that were made with it, and at its own: others answer like ids that do
 * not exist. @throws ReachError `not_found`
 */
export function onlyOwn(reader: Pick<ReachReader, 'memo'>): RequestHandler {
  return (request, response, next) =>
    handle(async () => {
      const { scope } = identityOf(response);
      if (scope) {
        const id = param(request, 'id') || param(request, '0');
        const { lineage } = await reader.memo(id);
        if (id !== scope.reachId && lineage?.parent !== scope.reachId) throw notFound();
      }
      next();
    })(request, response, next);
}
