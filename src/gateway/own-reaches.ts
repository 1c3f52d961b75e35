import type { RequestHandler } from 'express';
import type { EnvelopeInput } from '../protocol/envelope';
import { ReachError } from '../protocol/reach-error';
import { handle, identityOf, param, type RequestIdentity } from './http';
import type { ReachReader } from './reach-reader';
import { notFound } from './temporal-errors';

/**
 * Lets whoever shows only a reach token at the reaches that were made with it, and at its own: others answer like ids that do
 * not exist. @throws ReachError `not_found`
 */
export function onlyOwn(
  reader: Pick<ReachReader, 'memo'>,
  { childrenOnly = false }: { childrenOnly?: boolean } = {},
): RequestHandler {
  return (request, response, next) =>
    handle(async () => {
      const { scope } = identityOf(response);
      if (scope) {
        const id = param(request, 'id') || param(request, '0');
        const { lineage } = await reader.memo(id);
        const isOwn = id === scope.reachId && !childrenOnly;
        if (!isOwn && lineage?.parent !== scope.reachId) throw notFound();
      }
      next();
    })(request, response, next);
}

/**
 * A reach token hands on what its own call may do, and no more: its nested reaches and its events stay in its context, and tell no
 * workflow of the agent's choice. @throws ReachError `forbidden`
 */
export function assertWithin(
  { scope }: RequestIdentity,
  { context_id, reply_to }: Pick<EnvelopeInput, 'context_id' | 'reply_to'>,
): void {
  if (!scope) return;
  if (context_id !== undefined && context_id !== scope.contextId)
    throw beyond('/context_id', 'leave it out: the context of the call is inherited');
  if (reply_to && 'workflow_id' in reply_to) throw beyond('/reply_to/workflow_id', 'wait for the result instead');
}

function beyond(pointer: string, fix: string): ReachError {
  const message = 'is beyond what a reach token opens; send it with an API key, or';
  return new ReachError('forbidden', `${pointer} ${message} ${fix}`, { errors: [{ pointer, message, fix }] });
}
