import { Router, type Request } from 'express';
import type { Payloads, UploadId } from '../../payloads';
import { isPayloadRef } from '../../protocol/payload-ref';
import { payloadMessageIdSchema, sequenceSchema, uploadCompletionSchema } from '../../protocol/payload-upload';
import { validate } from '../../protocol/validation';
import { handle, identityOf, jsonBody, param, type RequestIdentity } from '../http';
import { sendContent } from '../large-output';

/** What the routes of `/v1/payloads` call. */
export interface PayloadRouteDependencies {
  payloads: Payloads;
}

/** `/v1/payloads`: uploads in chunks (R8), and the content of references. */
export function payloadRoutes({ payloads }: PayloadRouteDependencies): Router {
  const router = Router();
  const { uploads } = payloads;

  const putChunk = handle(async (request, response) => {
    const sequence = validate(sequenceSchema, param(request, 'sequence'));
    const body: unknown = request.body;
    const content = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
    const id = uploadId(request, identityOf(response));
    response.json({ message_id: id.messageId, ...(await uploads.putChunk(id, sequence, content)) });
  });
  router.put('/:id/chunks/:sequence', putChunk);
  router.post('/:id/chunks/:sequence', putChunk);

  router.post(
    /^\/([^/]+):complete$/,
    handle(async (request, response) => {
      const claim = validate(uploadCompletionSchema, jsonBody(request));
      const id = uploadId(request, identityOf(response), param(request, '0'));
      response.json({ message_id: id.messageId, ...(await uploads.complete(id, claim)) });
    }),
  );

  router.get(
    '/:id{/chunks}',
    handle(async (request, response) => {
      const id = param(request, 'id');
      if (isPayloadRef(id)) return sendContent(response, id, payloads);
      response.json(await uploads.state(uploadId(request, identityOf(response))));
    }),
  );

  router.delete(
    '/:id',
    handle(async (request, response) => {
      await uploads.discard(uploadId(request, identityOf(response)));
      response.status(204).end();
    }),
  );

  return router;
}

/** Agents that show a token have a room of their own: none of their names can be a key's. */
function uploadId(request: Request, { principal, scope }: RequestIdentity, given = param(request, 'id')): UploadId {
  return { principal: scope ? `agent ${principal}` : principal, messageId: validate(payloadMessageIdSchema, given) };
}
